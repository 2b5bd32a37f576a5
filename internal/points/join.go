package points

import (
	"errors"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// linked has all links that there are, and uses none.
var linked = sdk.NewHook("plugintest_linked", struct{}{}, func(struct{}, sdk.HookEnv) (sdk.Hook, error) {
	return idle{}, nil
}, sdk.LinkServer, sdk.LinkGroup, sdk.LinkDefault)

type idle struct{}

func (idle) Reduce(sdk.HookState, *tensor.Bucket) *comm.Future { return comm.Completed(nil) }
func (idle) Reset()                                            {}

// Join joins ranks of this process by all links, over real memory and sockets; end takes them
// apart. An error of end is one of a link or of the server.
func Join(ranks int, buckets []tensor.BucketSpec) (joined []*Rank, end func() error, err error) {
	w := &world{subject: &Subject{Part: linked}, plan: buckets}
	if err := w.open(ranks); err != nil {
		return nil, nil, errors.Join(err, w.close())
	}
	return w.ranks, func() error { return errors.Join(w.told(), w.close()) }, nil
}
