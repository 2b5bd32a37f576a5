package conduct

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// A sweep ends if it loses a resource that its runs need. A run that failed for this reason goes back to waiting, and
// the same command continues the sweep.
func TestLostNeeds(t *testing.T) {
	dir, p := t.TempDir(), planOf(t, 2, "fail")
	o := options()
	asked := 0
	o.Able = func() error {
		if asked++; asked > 1 { // the first run has started
			return errors.New("node2 is gone")
		}
		return nil
	}
	if err := Run(t.Context(), dir, p, o); err == nil ||
		!strings.Contains(err.Error(), " has ended early: node2 is gone; of its 2 runs 0 are done and 0 failed") {
		t.Errorf("it said %v", err)
	}
	if strings.Contains(states(t, dir), "failed") {
		t.Errorf("a run has failed:\n%s", states(t, dir))
	}
	o.Able = func() error { return nil }
	if err := Run(t.Context(), dir, p, o); err == nil ||
		!strings.Contains(err.Error(), "2 of the 2 runs of the sweep ") {
		t.Errorf("then it said %v", err)
	}
}

// Runs with Options.Led know their hosts from their environment. Other runs get the hosts file.
func TestHostsOfRuns(t *testing.T) {
	for _, led := range []bool{true, false} {
		t.Run(fmt.Sprint(led), func(t *testing.T) {
			p := planOf(t, 1, "work")
			p.Hosts = []string{"node1", "node2"}
			o := options()
			o.Led = led
			err := Run(t.Context(), t.TempDir(), p, o) // the fake psbench has no --hosts
			if (err == nil) != led {
				t.Errorf("led %v: it said %v", led, err)
			}
		})
	}
}
