package main

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk"
)

// mute answers each trainer with its own gradient, and does not say so.
type mute struct{}

func (mute) Receive(p sdk.Push) error { return p.Answer(p.Gradient) }
func (mute) Reset()                   {}

// echo says so.
type echo struct{ mute }

// Answer implements sdk.Answerer.
func (echo) Answer(x *sdk.Exchange, answer *tensor.Gradient) error {
	return answer.CopyFrom(x.Gradients[x.Rank])
}

type lies struct {
	Lies bool `json:"lies" doc:"whether it says that it leaves what it does not"`
}

// halving averages half of each dense gradient, and half of what it has left of those before.
type halving struct {
	lies
	env  sdk.HookEnv
	left [][]float32 // of the rank, by bucket
	all  [][]float32 // of all, by bucket and rank, for Answer
}

func newHalving(s lies, env sdk.HookEnv) (sdk.Hook, error) {
	h := &halving{lies: s, env: env}
	for _, b := range env.Buckets {
		h.left = append(h.left, make([]float32, b.Elements))
		for range env.Trainers {
			h.all = append(h.all, make([]float32, b.Elements))
		}
	}
	return h, nil
}

// halve leaves in gradient what is reduced, and the same in left.
func halve(gradient, left []float32) {
	vec.Add(gradient, left)
	vec.Scale(0.5, gradient)
	copy(left, gradient)
}

func (h *halving) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	if !b.Sparse {
		halve(b.Gradient.Values, h.left[b.Index])
	}
	return h.env.Group.Average(state.Batch(), b)
}

func (h *halving) Reset() {
	for _, left := range append(h.left, h.all...) {
		clear(left)
	}
}

// Answer implements sdk.Answerer.
func (h *halving) Answer(x *sdk.Exchange, answer *tensor.Gradient) error {
	if !x.Bucket.Sparse && !h.Lies {
		for rank, g := range x.Gradients {
			halve(g.Values, h.all[x.Bucket.Index*h.env.Trainers+rank])
		}
	}
	return x.Average(answer)
}

// pushing pushes every bucket, whatever the server makes of it.
type pushing struct{ env sdk.HookEnv }

func newPushing(_ none, env sdk.HookEnv) (sdk.Hook, error) { return pushing{env}, nil }

func (h pushing) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	return h.env.Server.PushPull(state.Batch(), b)
}

func (pushing) Reset() {}

// Answer implements sdk.Answerer.
func (pushing) Answer(x *sdk.Exchange, answer *tensor.Gradient) error { return x.PushPull(answer) }

// quiet sums, and does not say so.
type quiet struct{ env sdk.HookEnv }

func newQuiet(_ none, env sdk.HookEnv) (sdk.Hook, error) { return quiet{env}, nil }

func (h quiet) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	return h.env.Group.AllReduce(state.Batch(), b)
}

func (quiet) Reset() {}
