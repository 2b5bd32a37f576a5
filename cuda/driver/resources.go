//go:build nvidia

package driver

import (
	"fmt"
	"strings"
	"sync"
)

// resource is a kind of object that a context provides and takes back.
type resource int

const (
	allocations resource = iota
	pinned
	registrations
	imports
	streams
	events
	modules
	graphs
	sorts // number of kinds
)

var resourceNames = [sorts]string{
	allocations:   "allocations of device memory",
	pinned:        "allocations of pinned memory",
	registrations: "registrations of host memory",
	imports:       "imported allocations",
	streams:       "streams",
	events:        "events",
	modules:       "modules",
	graphs:        "graphs",
}

// resources records the objects that a context provided and did not get back, by address or handle, with their size
// in bytes.
type resources struct {
	mu   sync.Mutex
	held [sorts]map[uintptr]int
}

func (r *resources) add(sort resource, at uintptr, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held[sort] == nil {
		r.held[sort] = map[uintptr]int{}
	}
	r.held[sort][at] = bytes
}

func (r *resources) remove(sort resource, at uintptr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held[sort], at)
}

// unfreed counts the objects that were not freed: "allocations of device memory: 2 (8192 bytes), streams: 1".
// unfreed returns "" if there are none.
func (r *resources) unfreed() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var parts []string
	for sort, held := range r.held {
		if len(held) == 0 {
			continue
		}
		part := fmt.Sprintf("%s: %d", resourceNames[sort], len(held))
		total := 0
		for _, bytes := range held {
			total += bytes
		}
		if total > 0 {
			part += fmt.Sprintf(" (%d bytes)", total)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}
