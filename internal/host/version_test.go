package host

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// A core accepts plugins of its major version whose minor version is the same or older.
func TestVersionsThatACoreTakes(t *testing.T) {
	accepted := slices.Sorted(maps.Keys(Version{2, 1}.Accepted()))
	if want := []int{Version{2, 0}.number(), Version{2, 1}.number()}; !slices.Equal(accepted, want) {
		t.Errorf("version 2.1 takes %v, want %v", accepted, want)
	}
	for _, v := range []Version{{0, 1}, {1, 0}, {2, 999}, {3, 7}} {
		t.Run(fmt.Sprint(v.Major), func(t *testing.T) {
			if got := VersionOf(v.number()); got != v {
				t.Errorf("%v became %v", v, got)
			}
		})
	}
	if accepted := Contract.Accepted(); len(accepted) != Contract.Minor+1 ||
		accepted[int(Handshake.ProtocolVersion)] == nil {
		t.Errorf("this source speaks %v and takes %v", Contract, slices.Sorted(maps.Keys(accepted)))
	}
}
