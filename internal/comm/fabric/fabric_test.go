package fabric

import (
	"slices"
	"testing"
)

func TestOpenFabric(t *testing.T) {
	want := []string{"shm", "unix", "tcp", "grpc", "shm+tcp"}
	if got := Names(); !slices.Equal(got, want) {
		t.Errorf("the fabrics are %v, want %v", got, want)
	}
	for _, name := range want {
		t.Run(name, func(t *testing.T) {
			f, err := Open(name)
			if err != nil || f.Name != name {
				t.Errorf("%s opens %v, %v", name, f, err)
				return
			}
			companions := "unix"
			if f.Maps() {
				companions = name
			}
			if got := f.Companions().Name; got != companions {
				t.Errorf("companions of %s are joined by %s, want %s", name, got, companions)
			}
		})
	}
	if _, err := Open("carrier pigeon"); err == nil ||
		err.Error() != `there is no transport "carrier pigeon": it is one of [shm unix tcp grpc shm+tcp]` {
		t.Errorf("a carrier pigeon opens with %v", err)
	}
}
