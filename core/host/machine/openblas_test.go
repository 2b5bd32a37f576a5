package machine

import "testing"

// The user's kernels stay.
func TestKernels(t *testing.T) {
	t.Setenv(kernelsVariable, "Haswell")
	if got := Kernels(); got != nil {
		t.Errorf("beside the user's Haswell it gives %q", got)
	}
}
