package protocol

import (
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/protocol/protocoltest"
)

// A failure while nobody waits for the part is reported to the core. The end of the part's process
// is not reported, because the core sees that itself.
func TestFailuresBetweenCalls(t *testing.T) {
	for name, c := range map[string]struct {
		then func(p *protocoltest.Part) error
		want string // reported error; empty if none
		next string // expected in the error of the next call
	}{
		"failed": {func(p *protocoltest.Part) error {
			return p.Send(wire.Header{Op: opFailed}, []byte("no more")...)
		}, "trainer0: trainer0.part: no more", "trainer0.part: no more"},
		"a lie": {func(p *protocoltest.Part) error { return p.Send(wire.Header{Op: opStep}) },
			"trainer0: trainer0.part sent step, which was not requested", "which was not requested"},
		"hangs up": {func(*protocoltest.Part) error { return io.EOF }, "",
			"trainer0 lost its link to trainer0.part during a pause between calls: EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			host := newHost(t, folder, "trainer0", "unix", late)
			part, peer := protocoltest.NewPart(t, folder, "trainer0.part",
				func(p *protocoltest.Part, f wire.Header) error {
					if err := playCriterion(p, f); err != nil {
						return err
					}
					return c.then(p)
				})
			made, _, err := NewCriterion(host, peer)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := made.Forward(tensor.New(1, 2), []int64{0}); err != nil {
				t.Fatal(err)
			}
			<-made.(*criterion).link.read
			told := ""
			select {
			case err := <-host.Events.Failures:
				told = err.Error()
			case <-time.After(soon):
			}
			if told != c.want {
				t.Errorf("the core was told %q, want %q", told, c.want)
			}
			if _, err := made.Forward(tensor.New(1, 2), []int64{0}); err == nil ||
				!strings.Contains(err.Error(), c.next) {
				t.Errorf("the next call ended with %v, want %q", err, c.next)
			}
			_ = part.End()
		})
	}
}

// A repeated answer does not count as the answer to the next call.
func TestAnswersComeOnce(t *testing.T) {
	calls, answered := 0, make(chan struct{}, 2)
	c := criterionOf(t, func(p *protocoltest.Part, f wire.Header) error {
		calls++
		defer func() { answered <- struct{}{} }()
		h := wire.Header{Op: opLoss, Arg: int64(math.Float64bits(float64(calls)))} // #nosec G115 -- bits
		if err := p.Send(h); err != nil || calls > 1 {
			return err
		}
		return p.Send(h)
	})
	if loss, err := c.Forward(tensor.New(1, 2), []int64{0}); err != nil || loss != 1 {
		t.Fatalf("the loss is %v, %v", loss, err)
	}
	<-answered
	if loss, err := c.Forward(tensor.New(1, 2), []int64{0}); err == nil ||
		err.Error() != "trainer0.part sent loss, which was not requested" {
		t.Errorf("the next loss is %v, %v", loss, err)
	}
}

// A segment that a part requests has the requested size and contains zeros. The host limits the
// number of segments.
func TestMemoryOfParts(t *testing.T) {
	got := make(chan string, 1)
	c := criterionOf(t, func(p *protocoltest.Part, f wire.Header) error {
		_, at, err := p.Ask(12345)
		if err != nil || len(at) != 12345 || at[12344] != 0 {
			got <- "a segment of 12345 bytes has another size, or is not zero"
			return err
		}
		for err == nil {
			_, _, err = p.Ask(1)
		}
		close(got)
		return err
	})
	_, err := c.Forward(tensor.New(1, 2), []int64{0})
	if err == nil || err.Error() != "trainer0.part has 512 segments, the most that a link can have" {
		t.Errorf("it ended with %v", err)
	}
	if wrong := <-got; wrong != "" {
		t.Error(wrong)
	}
}

// A second answer to origin does not change the text of the first answer, and ends the link.
func TestTextThatNobodyAskedFor(t *testing.T) {
	folder := t.TempDir()
	_, peer := protocoltest.NewPart(t, folder, "data.part", func(p *protocoltest.Part, f wire.Header) error {
		if err := p.Send(f, []byte("row 1")...); err != nil {
			return err
		}
		return p.Send(f, make([]byte, maxText)...)
	})
	d, _, err := NewData(newHost(t, folder, "data", "unix", late), peer)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.origin(0, 1, 0); got != "row 1" {
		t.Errorf("the sample came from %.20q, want row 1", got)
	}
	<-d.link.read
	if err := d.link.failure(); err.Error() != "data.part sent origin, which was not requested" {
		t.Errorf("it ended with %v", err)
	}
}
