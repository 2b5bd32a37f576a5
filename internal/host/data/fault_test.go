package data

import (
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/sdk"
)

// drain takes batches until one fails, and returns the error.
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

// If a stream fails during the run, the data process reports the cause in one sentence. A trainer
// only sees a broken link, which explains nothing.
func TestStreamsThatFailLater(t *testing.T) {
	for want, spoil := range map[string]func(d *hosttest.Tape){
		"data tape: it changed during the run: it had 20 samples when they were counted, but now sample 13 is missing": func(d *hosttest.Tape) { d.Left.Store(13) },
		"data tape: it changed during the run: it had 20 samples when they were counted, but now sample 12 is missing": func(d *hosttest.Tape) { d.Left.Store(12) },
		"data tape: it changed during the run: samples 0 to 2 have 6 indices, but when they were counted no batch had more than 5": func(d *hosttest.Tape) {
			d.All = &sdk.Samples{}
			for range 20 {
				d.All.Append([]int64{1, 2}, 0)
			}
		},
		"data tape, Skip at sample 0: the tape is torn": func(d *hosttest.Tape) {
			d.OnSkip = func() error { return hosttest.ErrTape }
		},
		"data tape, Open: the tape is torn": func(d *hosttest.Tape) {
			d.OnOpen = func() error { return hosttest.ErrTape }
		},
		"data tape: sample 0 (a tape): target -1 is outside the model's classes of 0 to 9": func(d *hosttest.Tape) {
			d.All.Targets[0] = -1
		},
	} {
		d := hosttest.NewTape(hosttest.Bags(20))
		t.Cleanup(func() { d.Returned(t) })
		r, takers := dataOf(t, d, "unix", hosttest.Patience, 1)
		partition, err := r.Partition(request(hosttest.AnyInputs, 3, 1))
		hosttest.Must(t, err)
		spoil(d)
		fetch(t, r, takers, hosttest.AnyInputs, partition)
		if f := fault.Describe(hosttest.Failure(t, r.Process)); f.Message != want || f.Cause != fault.Other {
			t.Errorf("the failure is %v, want %s", f, want)
		}
		if f := fault.Describe(drain(t, takers[0])); f.Cause != fault.Peer || f.About[0] != "data" {
			t.Errorf("the trainer tells of %v", f)
		}
		if err := drain(t, takers[0]); err == nil {
			t.Error("after its end the stream gave a batch")
		}
	}
}

// If the data process does not answer in time, every waiting trainer names the data process.
func TestStalledStream(t *testing.T) {
	d := hosttest.NewTape(hosttest.Bags(20))
	var stalled atomic.Bool
	goOn := make(chan struct{})
	d.OnRead = func(r *hosttest.TapeReader, b *sdk.Batch, n int) error {
		if stalled.Load() {
			<-goOn
		}
		return r.Take(b, n)
	}
	r, takers := dataOf(t, d, "unix", time.Second, 2)
	t.Cleanup(func() { close(goOn) })
	partition, err := r.Partition(request(hosttest.AnyInputs, 3, 2))
	hosttest.Must(t, err)
	fetch(t, r, takers, hosttest.AnyInputs, partition)
	stalled.Store(true)
	for _, taker := range takers {
		want := taker.Name() + " waited 1 s for its next batch from data"
		if f := fault.Describe(drain(t, taker)); f.Cause != fault.Wait || f.Message != want || f.About[0] != "data" {
			t.Errorf("the failure is %v, want %s", f, want)
		}
	}
}

// If partitioning the data makes no progress, the data process reports a timeout.
func TestStalledDeal(t *testing.T) {
	goOn := make(chan struct{})
	d := hosttest.NewTape(hosttest.Bags(20))
	d.OnRead = func(*hosttest.TapeReader, *sdk.Batch, int) error {
		<-goOn
		return io.EOF
	}
	r, _ := dataOf(t, d, "unix", 20*time.Millisecond, 0)
	partitioned := make(chan struct{})
	go func() {
		defer close(partitioned)
		_, _ = r.Partition(request(hosttest.AnyInputs, 3, 1))
	}()
	if f := fault.Describe(hosttest.Failure(t, r.Process)); f.Message != "data tape: no samples came for 0.02 s" {
		t.Errorf("the failure is %v", f)
	}
	close(goOn)
	<-partitioned
}

// slowTape takes as long to load as reading all its samples did.
type slowTape struct{ *hosttest.Tape }

func (d slowTape) Load() (*sdk.Samples, error) {
	time.Sleep(900 * time.Millisecond)
	return nil, nil
}

// Several steps may together take longer than the timeout.
func TestSlowDeal(t *testing.T) {
	d := hosttest.NewTape(hosttest.Bags(30))
	d.OnRead = func(r *hosttest.TapeReader, b *sdk.Batch, n int) error {
		time.Sleep(60 * time.Millisecond)
		return r.Take(b, n)
	}
	r, _ := dataOf(t, slowTape{d}, "unix", 600*time.Millisecond, 0)
	_, err := r.Partition(request(hosttest.AnyInputs, 2, 1))
	hosttest.Must(t, err)
	if len(r.Events.Failures) > 0 {
		t.Errorf("it tells of %v", hosttest.Failure(t, r.Process))
	}
}

// If a trainer ends early, the data process reports nothing, and the other trainers still get their
// batches.
func TestTrainerEndsInTheMiddle(t *testing.T) {
	d := hosttest.NewTape(hosttest.Bags(200))
	t.Cleanup(func() { d.Returned(t) })
	r, takers := dataOf(t, d, "unix", hosttest.Patience, 3)
	partition, err := r.Partition(request(hosttest.AnyInputs, 3, 3))
	hosttest.Must(t, err)
	fetch(t, r, takers, hosttest.AnyInputs, partition)
	for range 5 {
		_, err := takers[1].Batches.Next()
		hosttest.Must(t, err)
	}
	takers[1].Close()
	if err := drain(t, takers[1]); err == nil {
		t.Error("a trainer that ended gets batches")
	}
	for _, rank := range []int{0, 2} {
		for range 100 {
			_, err := takers[rank].Batches.Next()
			hosttest.Must(t, err)
		}
	}
	if len(r.Events.Failures) > 0 {
		t.Errorf("it tells of %v", hosttest.Failure(t, r.Process))
	}
}
