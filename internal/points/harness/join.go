package harness

import (
	"errors"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// linked declares all links and uses none.
var linked = sdk.NewHook("plugintest_linked", struct{}{}, func(struct{}, sdk.HookEnv) (sdk.Hook, error) {
	return idle{}, nil
}, sdk.LinkServer, sdk.LinkGroup, sdk.LinkDefault)

type idle struct{}

func (idle) Reduce(sdk.HookState, *tensor.Bucket) *comm.Future { return comm.Completed(nil) }
func (idle) Reset()                                            {}

// Join connects ranks in this process by all links, over real memory and sockets. The function end closes them. An
// error of end comes from a link or from the server.
func Join(ranks int, buckets []tensor.BucketSpec) (joined []*Rank, end func() error, err error) {
	w := &world{subject: &Subject{Part: linked}, plan: buckets}
	if err := w.open(ranks); err != nil {
		return nil, nil, errors.Join(err, w.close())
	}
	return w.ranks, func() error { return errors.Join(w.told(), w.close()) }, nil
}

// Abandon opens a world of two ranks. One rank runs left while the other rank and the servers leave.
func Abandon(s *Subject, left func(r *Rank) error) error {
	w := &world{subject: s, plan: s.Buckets(false)}
	err := w.abandon(left)
	if end := Within(s.Patience(), w.close); err == nil {
		err = end
	}
	return err
}

func (w *world) abandon(left func(r *Rank) error) error {
	if err := w.open(2); err != nil {
		return err
	}
	if err := w.reset(0); err != nil {
		return err
	}
	var leaving sync.WaitGroup
	defer leaving.Wait()
	leaving.Go(func() {
		time.Sleep(Moment) // by then, the rank is waiting
		for _, p := range w.procs {
			if p != w.rankProcess(0) {
				p.Close()
			}
		}
	})
	return left(w.ranks[0])
}
