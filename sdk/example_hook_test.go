package sdk_test

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// counter is a hook that lets the server reduce every bucket and counts the bytes that it sends.
type counter struct {
	server comm.PushPuller
	sent   *sdk.Counter
}

func newCounter(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) {
	return &counter{env.Server, env.Recorder.Counter("counter_metric", "sent", "B")}, nil
}

// Reduce implements sdk.Hook. Reduce returns at once, because the trainer waits for the future.
func (c *counter) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	c.sent.Add(int64(4 * len(b.Gradient.Values)))
	return c.server.PushPull(state.Batch(), b)
}

// Reset implements sdk.Hook. This hook keeps no state from one pass to the next.
func (c *counter) Reset() {}

// counterPart is the part that the plugin's main function passes to plugin.Serve. counterPart
// declares the link that the hook uses. counterPart also declares the same results as psbench's
// built-in hook rpc.
var counterPart = sdk.Answering(sdk.AnswersAs("rpc"),
	sdk.NewHook("counter", struct{}{}, newCounter, sdk.LinkServer))

// halving is a link whose server immediately answers with half the gradient.
type halving struct{}

func (halving) PushPull(_ int64, b *tensor.Bucket) *comm.Future {
	for i := range b.Gradient.Values {
		b.Gradient.Values[i] /= 2
	}
	return comm.Completed(nil)
}

// This hook counts the bytes that it sends. In a run, psbench hands the hook each bucket during the
// backward pass. Here, the example calls the hook over a link of its own.
func ExampleHook() {
	recorder := &sdk.Recorder{}
	env := sdk.HookEnv{Trainers: 2, Links: sdk.Links{Server: halving{}}, Recorder: recorder}
	built, err := counterPart.Build([]byte("{}"), env)
	if err != nil {
		fmt.Println(err)
		return
	}
	bucket := tensor.NewBucket(tensor.BucketSpec{Elements: 2, Parameters: []tensor.Span{{Elements: 2}}})
	copy(bucket.Gradient.Values, []float32{2, 6})
	state := dataparallel.NewHookState()
	state.NextBatch()
	err = built.(sdk.Hook).Reduce(state, bucket).Wait()
	fmt.Println(bucket.Gradient.Values, err)
	fmt.Println(recorder.All().Counters[0].Value, "bytes")
	// Output:
	// [1 3] <nil>
	// 8 bytes
}
