package sdk

import (
	"errors"
	"fmt"
	"strings"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk/proto"
)

// partError is an error of a part, in words that name the part and its method.
type partError struct {
	text string
	err  error
}

func (e *partError) Error() string { return e.text }
func (e *partError) Unwrap() error { return e.err }

// errorOf names the part, and what of it was called, in an error that it returned. What
// names a part already stays as it is, and so does what no part is to blame for: a wait in
// vain, a link that broke, an end of file that only says that there is no more.
func errorOf(part, call string, err error) error {
	if err == nil || isExplained(err) {
		return err
	}
	return &partError{text: fmt.Sprintf("%s, %s: %s", part, call, quote.Message(err.Error())), err: err}
}

// isExplained is a function of its own because its variables go to the heap, even for nil.
func isExplained(err error) bool {
	var part *partError
	var wait *comm.WaitError
	var peer *comm.PeerError
	return errors.As(err, &part) || errors.As(err, &wait) || errors.As(err, &peer)
}

// titleOf is a part as errors name it: its kind and key.
func titleOf(choice *proto.PartChoice) string { return choice.GetKind() + " " + choice.GetKey() }

// title is the process's own part.
func (st *station) title() string { return titleOf(st.req.GetPart()) }

// told is an error as a process tells it to the core: that of a part names the process.
func told(process string, err error) error {
	var part *partError
	if !errors.As(err, &part) || names(err, process) {
		return err
	}
	return fmt.Errorf("%s: %w", process, err)
}

// fail tells the core of a failure outside a call.
func (st *station) fail(err error) { st.events.fail(told(st.name(), err)) }

// names says whether an error begins with a name.
func names(err error, name string) bool {
	rest, found := strings.CutPrefix(err.Error(), name)
	return found && rest != "" && strings.ContainsAny(rest[:1], " ,:")
}

// hostedCriterion is a criterion as the process that holds it hands it on.
type hostedCriterion struct {
	Criterion
	title string
}

func (c *hostedCriterion) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	loss, err := c.Criterion.Forward(output, targets)
	return loss, errorOf(c.title, "Forward", err)
}

func (c *hostedCriterion) Backward(outputGradient tensor.Tensor) error {
	return errorOf(c.title, "Backward", c.Criterion.Backward(outputGradient))
}

// Facts implements Describer for a criterion that does.
func (c *hostedCriterion) Facts() map[string]string { return facts(nil, c.Criterion) }

func (st *station) buildCriterion(choice *proto.PartChoice) (Criterion, error) {
	criterion, err := build[Criterion](st, choice, CriterionEnv{MaxBatch: int(st.req.GetBatchSize())})
	if err != nil {
		return nil, err
	}
	return &hostedCriterion{criterion, titleOf(choice)}, nil
}

// hostedHook is a hook as the process that holds it hands it on.
type hostedHook struct {
	Hook
	explain func(error) error // made once, since every bucket of every iteration gets it
}

func (h *hostedHook) Reduce(state HookState, b *tensor.Bucket) *comm.Future {
	f := h.Hook.Reduce(state, b)
	f.Explain(h.explain)
	return f
}

// Facts implements Describer for a hook that does.
func (h *hostedHook) Facts() map[string]string { return facts(nil, h.Hook) }

func (st *station) buildHook(choice *proto.PartChoice, env HookEnv) (Hook, error) {
	hook, err := build[Hook](st, choice, env)
	if err != nil {
		return nil, err
	}
	title := titleOf(choice)
	return &hostedHook{hook, func(err error) error { return errorOf(title, "Reduce", err) }}, nil
}
