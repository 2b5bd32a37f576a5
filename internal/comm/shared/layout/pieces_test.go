package layout

import (
	"fmt"
	"testing"
	"unsafe"
)

// If a trainer sleeps because all slots are in use, the server rings for at
// least one of their pieces.
func TestRingsWakeWhoHasNoFreeSlot(t *testing.T) {
	for slots := FirstPieces; slots <= PieceSlots; slots++ {
		for all := 1; all <= 5*PieceSlots; all++ {
			for taken := range all {
				rung := false
				for given := taken + 1; given <= min(taken+slots, all); given++ {
					rung = rung || RingsAt(given, all, slots)
				}
				if !rung {
					t.Errorf("of %d slots and %d pieces: who took %d sleeps over the next %d", slots, all, taken, slots)
				}
			}
		}
	}
	for given := 1; given <= 20; given++ {
		if !RingsAt(given, 20, FirstPieces) {
			t.Errorf("an older trainer is not rung at piece %d", given)
		}
	}
	if RingsAt(PieceSlots/2+1, 20, PieceSlots) {
		t.Error("the trainer is rung in the middle of a half")
	}
}

// A trainer takes no more slots than it knows, however many a server offers.
func TestSlotsAreAgreedOn(t *testing.T) {
	for offered, want := range map[uint32]int{1: 2, 2: 2, 3: 3, 7: 7, 8: 8, 9: 8, 1 << 31: 8} {
		t.Run(fmt.Sprint(offered), func(t *testing.T) {
			got := SlotsOf(offered)
			if got != want {
				t.Errorf("of %d slots the trainer takes %d, want %d", offered, got, want)
			}
			if said, ok := SlotsSaid(uint32(got)); said != got || !ok { // #nosec G115 -- few
				t.Errorf("a trainer that says %d has %d, %v", got, said, ok)
			}
		})
	}
	for _, said := range []uint32{0, 1, 9, 1 << 31, ^uint32(0)} {
		t.Run(fmt.Sprint(said), func(t *testing.T) {
			if _, ok := SlotsSaid(said); ok {
				t.Errorf("there can be %d slots", said)
			}
		})
	}
}

// An older side finds no offer in the field that it reads.
func TestOlderSidesAreOfferedNoPieces(t *testing.T) {
	var terms TermsLine
	if at := unsafe.Offsetof(terms.TakesPieces); at != 16 || unsafe.Sizeof(terms) != LineBytes {
		t.Errorf("the offer lies at byte %d of %d, want 16 of %d", at, unsafe.Sizeof(terms), LineBytes)
	}
}
