// Package fault turns errors of parts and links into one-sentence messages and into the form that
// the core receives.
package fault

import (
	"errors"
	"fmt"
	"strings"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/quote"
)

// Part is an error of a part. The text names the part and the method that failed.
type Part struct {
	Text    string
	Err     error
	Process string // the process with the part, if another process reports the error
}

func (e *Part) Error() string { return e.Text }
func (e *Part) Unwrap() error { return e.Err }

// Of adds the names of the part and of the called method to an error that the part returned. Of
// leaves an error unchanged if it already names a part. Of also leaves errors unchanged that are no
// part's fault, such as a timeout or a broken link.
func Of(part, call string, err error) error {
	if err == nil || Explained(err) {
		return err
	}
	return &Part{Text: fmt.Sprintf("%s, %s: %s", part, call, quote.Message(err.Error())), Err: err}
}

// Explained reports whether an error needs no further explanation: it names a part, a timed-out
// wait or a broken link. Explained is a separate function because its variables are allocated on
// the heap, even for a nil error.
func Explained(err error) bool {
	var part *Part
	var wait *comm.WaitError
	var peer *comm.PeerError
	return errors.As(err, &part) || errors.As(err, &wait) || errors.As(err, &peer)
}

// Told returns an error in the form in which a process reports it to the core. The error of a part
// then names the process.
func Told(process string, err error) error {
	var part *Part
	if !errors.As(err, &part) || Begins(err, process) {
		return err
	}
	return fmt.Errorf("%s: %w", process, err)
}

// Begins reports whether the error text begins with this name.
func Begins(err error, name string) bool {
	rest, found := strings.CutPrefix(err.Error(), name)
	return found && rest != "" && strings.ContainsAny(rest[:1], " ,:")
}

// Cause is the kind of a failure.
type Cause int

// The causes. For Wait and Peer, another process may have a better explanation.
const (
	Other Cause = iota
	Wait        // a wait timed out
	Peer        // a link is broken
)

// Failure is an error in the form that the core receives.
type Failure struct {
	Cause   Cause
	Message string
	About   []string // the process waited for, the peer, or the part's process if another process reports the error
}

// Describe converts an error to a Failure.
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
