package delayed

import (
	"net"
	"testing"
	"time"

	"github.com/psbench/psbench/internal/comm/wire"
)

// Two connections with one seed have different delays, and a second run repeats
// them.
func TestDelaysFollowTheSeed(t *testing.T) {
	draws := func(f wire.Raise) (out [4]int64) {
		nc, err := f(nil, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range out {
			out[i] = nc.(*conn).random.Int64N(int64(longest))
		}
		return out
	}
	first, second := raiser(7), raiser(7)
	a, b := draws(first), draws(first)
	if again := draws(second); a == b || a != again {
		t.Errorf("delays of connections 0 and 1 are %v and %v, of 0 again %v", a, b, again)
	}
}

// Each message arrives after a delay.
func TestMessagesAreLate(t *testing.T) {
	near, far := net.Pipe()
	defer func() { _ = far.Close() }()
	nc, err := raiser(1)(near, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	const messages = 50
	go func() {
		for range messages {
			_ = nc.(*conn).WriteVector([][]byte{{1}, {2, 3}})
		}
	}()
	start, buf := time.Now(), [3]byte{}
	for range messages {
		for n := 0; n < len(buf); {
			k, err := far.Read(buf[n:])
			if err != nil {
				t.Fatal(err)
			}
			n += k
		}
		if buf != [3]byte{1, 2, 3} {
			t.Fatalf("a message arrived as %v", buf)
		}
	}
	if took := time.Since(start); took < messages*longest/8 {
		t.Errorf("%d messages took %v, want about %v", messages, took, messages*longest/2)
	}
}
