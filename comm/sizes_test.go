package comm

import (
	"testing"

	"pgregory.net/rapid"
)

// Pieces cover a bucket from its end to its beginning and contain each element
// once. All pieces but the first have full size.
func TestPiecesCoverABucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		elements := rapid.IntRange(1, 9*PieceElements).Draw(t, "elements")
		next := elements
		for k := range PieceCount(elements) {
			from, to := PieceOf(elements, k)
			if to != next || from >= to || to-from > PieceElements || k > 0 && to-from != PieceElements {
				t.Fatalf("piece %d of %d elements goes from %d to %d, want up to %d", k, elements, from, to, next)
			}
			next = from
		}
		if next != 0 {
			t.Fatalf("the pieces of %d elements end at %d", elements, next)
		}
	})
}
