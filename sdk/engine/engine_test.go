package engine

import (
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestHostHasOrdinaryMemory(t *testing.T) {
	for _, typ := range []Type{Float32, Int32, Int64} {
		t.Run(string(typ), func(t *testing.T) {
			memory, err := Host.Alloc(typ, 3)
			must(t, err)
			if len(memory) != 3*typ.Bytes() {
				t.Errorf("3 elements of type %s take %d bytes", typ, len(memory))
			}
		})
	}
	x, err := Floats(Host, 2)
	must(t, err)
	x[1] = 5
	var room []float32
	if seen, err := View(Host, &room, x); err != nil || &seen[0] != &x[0] || room != nil {
		t.Errorf("the view of ordinary memory is not itself: %v, %v", seen, err)
	}
	must(t, Clear(Host, x))
	if x[1] != 0 {
		t.Error("memory is not cleared")
	}
	adopted, err := Host.Adopt(tensor.Float32Bytes(x))
	must(t, err)
	must(t, adopted.Close())
	must(t, Host.Close())
}

func TestCopiesAreMade(t *testing.T) {
	for i, e := range []Engine{Host, &apart{}} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			x, err := Floats(e, 3)
			must(t, err)
			must(t, In(e, x, []float32{1, 2, 3}))
			got := make([]float32, 3)
			must(t, Out(e, got, x))
			if got[2] != 3 {
				t.Errorf("%s: %v came back", e.Name(), got)
			}
			must(t, Clear(e, x))
			var room []float32
			seen, err := View(e, &room, x)
			must(t, err)
			if seen[2] != 0 || !e.Addressable() && &seen[0] == &x[0] {
				t.Errorf("%s: the view is %v", e.Name(), seen)
			}
			for _, err := range []error{In(e, x, got[:2]), Out(e, got[:2], x)} {
				if want := "2 elements of the host and 3 of engine " + e.Name() +
					" cannot be copied: both numbers must be equal"; err == nil || err.Error() != want {
					t.Errorf("a copy of another length gives %v", err)
				}
			}
		})
	}
}

func TestGrowKeepsWhatHasRoom(t *testing.T) {
	e := &apart{}
	x, err := Grow(e, nil, 4)
	must(t, err)
	shorter, err := Grow(e, x, 2)
	must(t, err)
	again, err := Grow(e, shorter, 4)
	must(t, err)
	if &again[0] != &x[0] || len(shorter) != 2 || e.freed != 0 {
		t.Errorf("memory with room was not kept: %d bytes are freed", e.freed)
	}
	larger, err := Grow(e, again[:1], 5)
	must(t, err)
	if len(larger) != 5 || e.freed != 16 {
		t.Errorf("there are %d elements, and %d bytes are freed, want 5 and all 16", len(larger), e.freed)
	}
	if n := testing.AllocsPerRun(10, func() { larger, _ = Grow(Host, larger, 5) }); n != 0 {
		t.Errorf("memory with room allocates %g times", n)
	}
}

func TestTypesThatAreLacking(t *testing.T) {
	for _, c := range []struct {
		e    Engine
		t    Type
		want string
	}{
		{Host, BFloat16, "engine host has no elements of type bfloat16: it has float32, int32, int64"},
		{&apart{has: []Type{Float16, BFloat16}}, Float32,
			"engine apart has no elements of type float32: it has float16, bfloat16"},
	} {
		t.Run(string(c.t), func(t *testing.T) {
			if _, err := c.e.Alloc(c.t, 1); err == nil || err.Error() != c.want {
				t.Errorf("it gives %v, want %s", err, c.want)
			}
		})
	}
	if Type("int3").Bytes() != 0 || Float16.Bytes() != 2 {
		t.Error("sizes of types are wrong")
	}
	if _, err := Floats(&apart{short: 1}, 2); err == nil ||
		err.Error() != "engine apart gave 7 bytes for 2 elements of type float32, which take 8" {
		t.Errorf("too little memory gives %v", err)
	}
}

func TestNeedOfOrdinaryMemory(t *testing.T) {
	must(t, NeedAddressable(Host))
	if err := NeedAddressable(&apart{}); err == nil ||
		!strings.HasPrefix(err.Error(), "it computes in Go, which cannot touch the memory of engine apart") {
		t.Errorf("another engine gives %v", err)
	}
}

// apart says that its memory is not addressable; it is.
type apart struct {
	has   []Type
	short int // bytes that Alloc gives too little
	freed int
}

func (a *apart) Name() string      { return "apart" }
func (a *apart) Addressable() bool { return false }
func (a *apart) Alloc(t Type, n int) ([]byte, error) {
	if a.has != nil {
		return nil, Lacks("apart", t, a.has...)
	}
	memory, err := Host.Alloc(t, n)
	return memory[a.short:], err
}
func (a *apart) Free(memory []byte)                 { a.freed += len(memory) }
func (a *apart) Adopt(b []byte) (io.Closer, error)  { return Host.Adopt(b) }
func (a *apart) CopyOut(host, memory []byte) Ticket { return Host.CopyOut(host, memory) }
func (a *apart) CopyIn(memory, host []byte) Ticket  { return Host.CopyIn(memory, host) }
func (a *apart) Wait(t Ticket) error                { return Host.Wait(t) }
func (a *apart) Close() error                       { return nil }
