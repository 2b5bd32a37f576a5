package fabric

import "testing"

// overTransports runs test once per transport.
func overTransports(t *testing.T, test func(t *testing.T, tr *Fabric)) {
	for _, tr := range fabrics {
		t.Run(tr.Name, func(t *testing.T) { test(t, tr) })
	}
}
