package fault

import (
	"errors"
	"fmt"
	"strings"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk/proto"
)

// Part is an error of a part, in words that name the part and its method.
type Part struct {
	Text string
	Err  error
}

func (e *Part) Error() string { return e.Text }
func (e *Part) Unwrap() error { return e.Err }

// Of names the part, and what of it was called, in an error that it returned. What
// names a part already stays as it is, and so does what no part is to blame for: a wait in
// vain, a link that broke, an end of file that only says that there is no more.
func Of(part, call string, err error) error {
	if err == nil || Explained(err) {
		return err
	}
	return &Part{Text: fmt.Sprintf("%s, %s: %s", part, call, quote.Message(err.Error())), Err: err}
}

// Explained is a function of its own because its variables go to the heap, even for nil.
func Explained(err error) bool {
	var part *Part
	var wait *comm.WaitError
	var peer *comm.PeerError
	return errors.As(err, &part) || errors.As(err, &wait) || errors.As(err, &peer)
}

// Told is an error as a process tells it to the core: that of a part names the process.
func Told(process string, err error) error {
	var part *Part
	if !errors.As(err, &part) || Begins(err, process) {
		return err
	}
	return fmt.Errorf("%s: %w", process, err)
}

// Begins says whether an error begins with a name.
func Begins(err error, name string) bool {
	rest, found := strings.CutPrefix(err.Error(), name)
	return found && rest != "" && strings.ContainsAny(rest[:1], " ,:")
}

// ToProto is an error as the core gets it, with whom it waited for.
func ToProto(err error) *proto.Failure {
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
