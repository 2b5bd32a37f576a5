//go:build !race

package points

import (
	"testing"

	"github.com/psbench/psbench/sdk"
)

// The check finds one wrong element of a large gradient at any position. Under the race detector, so many products
// would take minutes.
func TestOneWrongElement(t *testing.T) {
	zero := func(at int) func([]float32) { return func(g []float32) { g[at] = 0 } }
	const n = 784 * 64
	for name, spoil := range map[string]func([]float32){
		"":     nil,
		"zero": zero(0), "zero last": zero(n - 1), "zero elsewhere": zero(40001),
		"flipped": func(g []float32) { g[n/3] = -g[n/3] },
	} {
		t.Run(name, func(t *testing.T) {
			point, err := firstBroken(func() sdk.Model { return &wide{rows: 784, columns: 64, spoil: spoil} }, asItIs,
				"gradient")
			if want := map[bool]string{false: "gradient"}[spoil == nil]; point != want {
				t.Errorf("%s: it is caught by %q, want %q: %v", name, point, want, err)
			}
		})
	}
}
