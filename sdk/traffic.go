package sdk

import (
	"errors"
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

// OperationKind says what an operation of a traffic plan does with its payload; comm.PushPuller and
// comm.Group have a method for each.
type OperationKind string

// The kinds of operation. PushPull travels over the hook's server link; the others travel over the
// trainers' group.
const (
	PushPull      OperationKind = "pushpull"
	AllReduce     OperationKind = "allreduce"
	Average       OperationKind = "average"
	Broadcast     OperationKind = "broadcast"
	ReduceScatter OperationKind = "reducescatter"
	AllGather     OperationKind = "allgather"
	AllToAll      OperationKind = "alltoall"
)

// Operation is one operation of a traffic plan. Its payload is memory of its own, not the bucket.
type Operation struct {
	Kind     OperationKind
	Type     tensor.Type // of the payload's elements
	Elements int         // of the payload
	Root     int         // position of the member that a Broadcast starts from
}

func (o Operation) String() string {
	s := fmt.Sprintf("%s of %d %s", o.Kind, o.Elements, o.Type)
	if o.Kind == Broadcast {
		s += fmt.Sprintf(" from %d", o.Root)
	}
	return s
}

// Round is a list of operations that run at the same time.
type Round []Operation

// Traffic is a hook's plan: the rounds of each bucket, by the bucket's index. The hook itself
// reduces a bucket without rounds, over its links.
type Traffic [][]Round

// TrafficEnv holds what a hook knows when it plans. All ranks must make the same plan, so a plan
// must not depend on Rank or Name.
type TrafficEnv struct {
	Rank     int
	Name     string
	Trainers int // number of trainers in the run
	// Buckets are the buckets that the hook will reduce, by index. The capacity of sparse buckets is
	// not known yet.
	Buckets []tensor.BucketSpec
}

// NewPlannedHook declares a hook that plans its traffic. psbench calls plan once on each rank, after
// the trainers have planned their buckets. It refuses the run if the plans of two ranks differ. Then
// it lays memory and links for the plan, and build gets HookEnv.Rounds. See NewHook for the other
// parameters.
//
// links are the links that the plan uses. The hook gets the same links for buckets without rounds,
// except the server's: if the plan pushes, the server takes only planned payloads.
func NewPlannedHook[S any](key string, defaults S, plan func(S, TrafficEnv) (Traffic, error),
	build func(S, HookEnv) (Hook, error), links ...Link) Part {
	part := NewHook(key, defaults, func(s S, env HookEnv) (Hook, error) {
		if env.Rounds == nil { // a psbench of contract 2.5 or older does not ask for the plan
			return nil, errors.New("this psbench lays no traffic plans: update it")
		}
		return build(s, env)
	}, links...)
	if len(links) == 0 {
		mistake("hook %s plans its traffic but has no links", key)
	}
	part.Plans = true
	part.plan = func(raw []byte, env TrafficEnv) (Traffic, error) {
		values, err := decoded(raw, defaults)
		if err != nil {
			return nil, err
		}
		return plan(values, env)
	}
	return part
}

// Rounds runs the rounds of a hook's plan.
type Rounds interface {
	// Reduce starts the rounds of b, which the plan must have. All ranks must call Reduce for their
	// buckets in the same order. Reduce calls Step of round 0 before it returns, on the caller's
	// goroutine. Other goroutines call the later Steps, so backward goes on.
	// The future is done after the last Step. An error of Step ends the run.
	Reduce(state HookState, b *tensor.Bucket, s Stepper) *comm.Future
}

// Stepper computes what travels in the rounds of a bucket.
type Stepper interface {
	// Step is called before each round, with the round's number, and after the last round, with the
	// number of rounds. Step reads b and the payloads of earlier rounds, and fills the payloads of
	// this round. The last call writes the reduced gradient into b.
	//
	// payloads holds the payload of each operation, by round and operation. tensor.As views the words
	// in Gradient.Values as the payload's elements. Payloads keep their values between iterations.
	// Calls for one bucket never overlap, but calls for different buckets may, so scratch memory
	// belongs to a bucket. state has the batch and the key of b.
	Step(state HookState, round int, b *tensor.Bucket, payloads [][]*tensor.Bucket) error
}
