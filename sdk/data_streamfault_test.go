package sdk

import (
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk/proto"
)

// drain takes batches until one is refused.
func drain(t *testing.T, taker *taker) error {
	t.Helper()
	for range 10_000 {
		if _, err := taker.Batches.Next(); err != nil {
			return err
		}
	}
	t.Fatal("the stream does not end")
	return nil
}

// What goes wrong with a stream during the run is told by the data process in a
// sentence; to a trainer it is a link that broke, which explains nothing.
func TestStreamsThatFailLater(t *testing.T) {
	for want, spoil := range map[string]func(d *tape){
		"data tape: it changed during the run: it had 20 samples when they were counted, but now sample 13 is missing": func(d *tape) { d.left.Store(13) },
		"data tape: it changed during the run: it had 20 samples when they were counted, but now sample 12 is missing": func(d *tape) { d.left.Store(12) },
		"data tape: it changed during the run: samples 0 to 2 have 6 indices, but when they were counted no batch had more than 5": func(d *tape) {
			d.all = &Samples{}
			for range 20 {
				d.all.Append([]int64{1, 2}, 0)
			}
		},
		"data tape, Skip at sample 0: the tape is torn":                                    func(d *tape) { d.skip = func() error { return errTape } },
		"data tape, Open: the tape is torn":                                                func(d *tape) { d.open = func() error { return errTape } },
		"data tape: sample 0 (a tape): target -1 is outside the model's classes of 0 to 9": func(d *tape) { d.all.Targets[0] = -1 },
	} {
		d := newTape(bags(20))
		t.Cleanup(func() { d.returned(t) })
		r, takers := dataOf(t, d, comm.Unix, patience, 1)
		deal, err := r.deal(request(anyInputs, 3, 1))
		must(t, err)
		spoil(d)
		fetch(t, r, takers, anyInputs, deal)
		if f := failure(t, r.station); f.GetMessage() != want || f.GetCause() != proto.Failure_CAUSE_UNSPECIFIED {
			t.Errorf("the failure is %v, want %s", f, want)
		}
		if f := asFailure(drain(t, takers[0])); f.GetCause() != proto.Failure_CAUSE_PEER || f.GetAbout()[0] != "data" {
			t.Errorf("the trainer tells of %v", f)
		}
		if err := drain(t, takers[0]); err == nil {
			t.Error("after its end the stream gave a batch")
		}
	}
}

// A data process that does not answer in time is named, by every trainer that waits.
func TestStalledStream(t *testing.T) {
	d := newTape(bags(20))
	var stalled atomic.Bool
	goOn := make(chan struct{})
	d.read = func(r *tapeReader, b *Batch, n int) error {
		if stalled.Load() {
			<-goOn
		}
		return r.take(b, n)
	}
	r, takers := dataOf(t, d, comm.Unix, time.Second, 2)
	t.Cleanup(func() { close(goOn) })
	deal, err := r.deal(request(anyInputs, 3, 2))
	must(t, err)
	fetch(t, r, takers, anyInputs, deal)
	stalled.Store(true)
	for _, taker := range takers {
		want := taker.name() + " waited 1 s for its next batch from data"
		if f := asFailure(drain(t, taker)); f.GetCause() != proto.Failure_CAUSE_WAIT || f.GetMessage() != want || f.GetAbout()[0] != "data" {
			t.Errorf("the failure is %v, want %s", f, want)
		}
	}
}

// Data that does not come on while it is dealt tells so.
func TestStalledDeal(t *testing.T) {
	goOn := make(chan struct{})
	d := newTape(bags(20))
	d.read = func(*tapeReader, *Batch, int) error {
		<-goOn
		return io.EOF
	}
	r, _ := dataOf(t, d, comm.Unix, 20*time.Millisecond, 0)
	dealt := make(chan struct{})
	go func() {
		defer close(dealt)
		_, _ = r.deal(request(anyInputs, 3, 1))
	}()
	if f := failure(t, r.station); f.GetMessage() != "data tape: no samples came for 0.02 s" {
		t.Errorf("the failure is %v", f)
	}
	close(goOn)
	<-dealt
}

// slowTape takes as long to load as reading all of it did.
type slowTape struct{ *tape }

func (d slowTape) Load() (*Samples, error) {
	time.Sleep(900 * time.Millisecond)
	return nil, nil
}

// Steps that take longer together than the timeout are none too long.
func TestSlowDeal(t *testing.T) {
	d := newTape(bags(30))
	d.read = func(r *tapeReader, b *Batch, n int) error {
		time.Sleep(60 * time.Millisecond)
		return r.take(b, n)
	}
	r, _ := dataOf(t, slowTape{d}, comm.Unix, 600*time.Millisecond, 0)
	_, err := r.deal(request(anyInputs, 2, 1))
	must(t, err)
	if len(r.events.failures) > 0 {
		t.Errorf("it tells of %v", failure(t, r.station))
	}
}

// A trainer that ends in the middle is nothing that the data process tells of, and the
// others get what is theirs.
func TestTrainerEndsInTheMiddle(t *testing.T) {
	d := newTape(bags(200))
	t.Cleanup(func() { d.returned(t) })
	r, takers := dataOf(t, d, comm.Unix, patience, 3)
	deal, err := r.deal(request(anyInputs, 3, 3))
	must(t, err)
	fetch(t, r, takers, anyInputs, deal)
	for range 5 {
		_, err := takers[1].Batches.Next()
		must(t, err)
	}
	takers[1].close()
	if err := drain(t, takers[1]); err == nil {
		t.Error("a trainer that ended gets batches")
	}
	for _, rank := range []int{0, 2} {
		for range 100 {
			_, err := takers[rank].Batches.Next()
			must(t, err)
		}
	}
	if len(r.events.failures) > 0 {
		t.Errorf("it tells of %v", failure(t, r.station))
	}
}
