package sdk

import (
	"errors"
	"fmt"
	"strings"

	"github.com/psbench/psbench/comm"
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

// told is an error as a process tells it to the core: that of a part names the process.
func told(process string, err error) error {
	var part *partError
	if !errors.As(err, &part) || names(err, process) {
		return err
	}
	return fmt.Errorf("%s: %w", process, err)
}

// names says whether an error begins with a name.
func names(err error, name string) bool {
	rest, found := strings.CutPrefix(err.Error(), name)
	return found && rest != "" && strings.ContainsAny(rest[:1], " ,:")
}

// asFailure is an error as the core gets it, with whom it waited for.
func asFailure(err error) *proto.Failure {
	f := &proto.Failure{Message: err.Error()}
	var wait *comm.WaitError
	var peer *comm.PeerError
	switch {
	case errors.As(err, &wait):
		f.Cause, f.About = proto.Failure_CAUSE_WAIT, wait.For
	case errors.As(err, &peer):
		f.Cause, f.About = proto.Failure_CAUSE_PEER, []string{peer.Peer}
	}
	return f
}
