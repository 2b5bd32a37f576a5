package trainer

import (
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// Collect during a pass returns only finished iterations and their samples.
func TestCollectDuringAPass(t *testing.T) {
	t.Parallel()
	r := newToyWorld(t, "shm", "{}").trainer
	hosttest.Must(t, r.Reset())
	whole := r.Recorder.Series("batch_level_metric", "batch_all")
	r.training.Lock() // as if the pass did not end
	defer r.training.Unlock()
	r.Epoch(0)
	ended, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := int64(0); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := r.parts.Batches.Next(); err != nil {
				t.Error(err)
			}
			whole.Record(sdk.Key{A: i}, comm.Now(), comm.Now())
			r.Loss(1)
		}
	}()
	losses, recorded := 0, 0
	var work *record.Work
	hosttest.Must(t, r.Collect(func(reply record.Piece) error {
		switch q := reply.(type) {
		case record.Losses:
			losses += len(q)
		case *record.Work:
			work = q
		case *record.Series:
			if q.Type == whole.Type {
				recorded += q.Measurements.Len()
			}
		}
		return nil
	}))
	close(stop)
	<-ended
	if losses == 0 || recorded != losses && recorded != losses+1 {
		t.Errorf("there are %d measurements of %d iterations", recorded, losses)
	}
	// The toy data has four batches of 2, 2, 2 and 1 samples.
	if want := int64(losses/4*7 + losses%4*2); work.Samples != want || work.EndNS < work.StartNS || work.StartNS == 0 {
		t.Errorf("the work is %v after %d iterations, want %d samples", work, losses, want)
	}
}

// lateTrainer records a value when it is asked for its facts after the pass.
type lateTrainer struct {
	sdk.Trainer
	counter *sdk.Counter
}

// PassFacts implements sdk.PassDescriber.
func (t lateTrainer) PassFacts() map[string]string {
	t.counter.Add(1)
	return map[string]string{"late": "yes"}
}

// Collect includes values that a part records in PassFacts.
func TestCollectHasWhatIsRecordedAfterThePass(t *testing.T) {
	t.Parallel()
	r := newToyWorld(t, "shm", "{}").trainer
	hosttest.Must(t, r.Reset())
	r.trainer = lateTrainer{r.trainer, r.Recorder.Counter("late", "asked", "1")}
	counted, facts := int64(0), ""
	hosttest.Must(t, r.Collect(func(reply record.Piece) error {
		switch q := reply.(type) {
		case *record.Counter:
			counted += q.Value
		case record.Facts:
			facts = q["late"]
		}
		return nil
	}))
	if counted != 1 || facts != "yes" {
		t.Errorf("%d are counted and the fact is %q", counted, facts)
	}
}
