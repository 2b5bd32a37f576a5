package engine

import (
	"errors"
	"io"
	"slices"
	"testing"
)

// pinning notes which memory, by its length, is adopted.
type pinning struct {
	apart
	pinned   []int
	givenUp  []int
	most     int
	unpinned error
}

type pin struct {
	p *pinning
	n int
}

func (p *pinning) Adopt(host []byte) (io.Closer, error) {
	switch {
	case len(host) > p.most:
		return nil, errors.New("cannot pin")
	case len(host) == 0:
		return nil, nil //nolint:nilnil // what it is to stand for
	}
	p.pinned = append(p.pinned, len(host))
	return pin{p, len(host)}, nil
}

func (p pin) Close() error {
	p.p.givenUp = append(p.p.givenUp, p.n)
	return p.p.unpinned
}

func TestAdoptTakesAllOrNone(t *testing.T) {
	e := &pinning{most: 4, unpinned: errors.New("it sticks")}
	memory := [][]byte{make([]byte, 3), {}, make([]byte, 4)}
	all, err := Adopt(e, "buckets", memory)
	must(t, err)
	if err := all.Close(); !errors.Is(err, e.unpinned) || !slices.Equal(e.givenUp, []int{4, 3}) {
		t.Errorf("closing gives up %v with error %v", e.givenUp, err)
	}
	e.pinned, e.givenUp = nil, nil
	_, err = Adopt(e, "buckets", append(memory, make([]byte, 5)))
	if want := "engine apart does not adopt 5 bytes of buckets: cannot pin"; err == nil || err.Error() != want {
		t.Errorf("it gives %v, want %s", err, want)
	}
	if !slices.Equal(e.pinned, []int{3, 4}) || !slices.Equal(e.givenUp, []int{4, 3}) {
		t.Errorf("after an error %v were adopted and %v given up", e.pinned, e.givenUp)
	}
}
