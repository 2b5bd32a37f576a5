package sdk

import "testing"

// A timing that is none would leave gradients out.
func TestElementwiseServersHaveATiming(t *testing.T) {
	for timing, want := range map[Timing]bool{OnArrival: true, OnLastArrival: true, 0: false, 7: false} {
		declared := func() (ok bool) {
			defer func() { ok = recover() == nil }()
			part := NewElementwiseServer("sum", timing, struct{}{}, func(struct{}, ServerEnv) (ElementwiseServer, error) { return nil, nil })
			if part.Timing != timing || part.Computes != "sum" || part.Serves != ServiceGradients {
				t.Errorf("timing %d is declared as %+v", timing, part)
			}
			return
		}()
		if declared != want {
			t.Errorf("timing %d is taken: %v, want %v", timing, declared, want)
		}
	}
}
