package cluster

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/comm/fabric"
)

// CheckLinks returns an error if a fabric cannot connect the processes across their hosts. origin names the setting
// that selected the fabric. Processes that share memory need a common clock, because the slots hold timestamps.
func CheckLinks[M member](fabric *fabric.Fabric, origin string, members []M) error {
	what, first := "what "+fabric.Name+" joins", map[string]M{}
	for _, m := range members {
		if err := CheckReach(fabric, origin, members[0], m); err != nil {
			return err
		}
		host := m.base().Site().Host
		if _, known := first[host]; !known {
			first[host] = m
		}
		if fabric.Maps() {
			if err := RequireClock(what, first[host], m); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckReach returns an error if a fabric cannot connect two processes. origin names the setting that selected the
// fabric.
func CheckReach[M member](fabric *fabric.Fabric, origin string, x, y M) error {
	if SameHost(x, y) || !fabric.OnOneHost() {
		return nil
	}
	return fmt.Errorf("%s, but transport %s (%s) reaches no other host: leave it out, or give tcp", whereabouts(x, y),
		fabric.Name, origin)
}

// Joined collects the links of a fabric, grouped by transport.
type Joined struct {
	fabric *fabric.Fabric
	kinds  [2]result.Links // index 0: links within hosts; index 1: links between hosts
}

// NewJoined returns a Joined without links.
func NewJoined(f *fabric.Fabric) *Joined {
	return &Joined{fabric: f, kinds: [2]result.Links{{Transport: f.Link(true).Name}, {Transport: f.Link(false).Name}}}
}

// Add adds the link between two processes, unless it was added before.
func (j *Joined) Add(a, b member) {
	kind, pair := &j.kinds[1], [2]string{a.base().Name, b.base().Name}
	if SameHost(a, b) {
		kind = &j.kinds[0]
	}
	if !slices.Contains(kind.Pairs, pair) {
		kind.Pairs = append(kind.Pairs, pair)
	}
}

// AddGroup adds the links between the members of a group.
func AddGroup[M member](j *Joined, members []M) {
	hosts := Hosts(members)
	for i, m := range members {
		for _, k := range j.fabric.GroupPeers(i, hosts) {
			if i < k {
				j.Add(m, members[k])
			}
		}
	}
}

// List returns the links for a result, or nil if all links use the same transport.
func (j *Joined) List() []result.Links {
	if j.fabric.Within == nil {
		return nil
	}
	return slices.DeleteFunc(j.kinds[:], func(l result.Links) bool { return len(l.Pairs) == 0 })
}
