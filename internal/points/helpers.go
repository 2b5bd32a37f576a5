package points

import (
	"cmp"
	"time"

	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

const (
	// MaxBatch is how many samples the batches have that parts are told of, where a point does
	// not need more.
	MaxBatch = 64
	// Batches is how many a trainer needs in an epoch to carry a point out.
	Batches = 4

	// hostGrace is for what the host has to end.
	hostGrace = 5 * time.Second
)

// transport keeps buckets on the heap, where a part that writes too late is found; mapped
// memory would be gone, and the process of the test with it.
var transport = func() string {
	for _, name := range fabric.Names() {
		if f, err := fabric.Open(name); err == nil && f.OnOneHost() && !f.Maps() {
			return name
		}
	}
	return fabric.Default().Name
}()

// secret is that of the world's links.
var secret = []byte("plugintest plugintest plugintest")

// choice is the part that is tested, kit one that it is tested with.
func (s *Subject) choice() process.Choice {
	return process.Choice{Kind: s.Part.Kind, Key: s.Part.Key, Settings: s.settings()}
}

func kit(part sdk.Part) process.Choice {
	return process.Choice{Kind: part.Kind, Key: part.Key, Settings: []byte("{}")}
}

// samples are those of the largest batch.
func (s *Subject) samples(p Point) int {
	n := cmp.Or(p.Samples, MaxBatch)
	if s.Largest > 0 {
		n = min(n, s.Largest)
	}
	return n
}
