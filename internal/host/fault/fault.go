// Package fault has errors of parts and links as one sentence, and as the core gets them.
package fault

import (
	"errors"
	"fmt"
	"strings"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/quote"
)

// Part is an error of a part, in words that name the part and its method.
type Part struct {
	Text    string
	Err     error
	Process string // that has the part, if it is another one than that which tells
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

// Told returns an error in the form in which a process reports it to the core: the error of a part
// names the process.
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

// Cause is what kind of failure an error is.
type Cause int

// The causes. A wait and a peer may have a better explanation in another process.
const (
	Other Cause = iota
	Wait        // a deadline passed
	Peer        // a link broke
)

// Failure is an error in the form that the core gets.
type Failure struct {
	Cause   Cause
	Message string
	About   []string // whom it waited for, the peer, or the process of the part if another one tells
}

// Describe says what an error is about.
func Describe(err error) Failure {
	f := Failure{Message: err.Error()}
	var wait *comm.WaitError
	var peer *comm.PeerError
	var part *Part
	switch {
	case errors.As(err, &wait):
		f.Cause, f.About = Wait, wait.For
	case errors.As(err, &peer):
		f.Cause, f.About = Peer, []string{peer.Peer}
	case errors.As(err, &part) && part.Process != "":
		f.About = []string{part.Process}
	}
	return f
}
