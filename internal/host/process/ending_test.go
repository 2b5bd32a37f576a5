package process_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// lossError is the error of an engine. The value says whether the engine is lost.
type lossError bool

func (lossError) Error() string { return "the device is lost" }
func (l lossError) Lost() bool  { return bool(l) }

// failing is a part whose Close fails.
type failing struct{ err error }

func (f failing) Close() error { return f.err }

// The loss of an engine is reported once, by the first error that shows it. All other errors are
// always reported.
func TestLossIsToldOnce(t *testing.T) {
	lost := fmt.Errorf("a call: %w", lossError(true))
	for _, c := range []struct {
		name string
		told error // an error that the core got before the end, or nil
		ends []error
		want string
	}{
		{"by what ends first", nil, []error{lost, lost}, "part 1, Close: a call: the device is lost"},
		{"before the end", lost, []error{lost, lost}, ""},
		{"beside another error", lost, []error{lost, errors.New("a file is full")}, "part 1, Close: a file is full"},
		{"after another error", errors.New("a file is full"), []error{lost},
			"part 0, Close: a call: the device is lost"},
		{"of an engine that is not lost", lossError(false), []error{lossError(false), lossError(false)},
			"part 1, Close: the device is lost; part 0, Close: the device is lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := hosttest.Process(t, hosttest.Folder(t), nil,
				process.Config{Name: "trainer1", Part: hosttest.Choice(sdk.KindTrainer, "ddp"), Timeout: time.Second})
			for i, err := range c.ends {
				p.Closes(fmt.Sprintf("part %d", i), failing{err})
			}
			if c.told != nil {
				p.Tells(c.told)
			}
			if err := p.CloseParts(time.Second); err == nil && c.want != "" || err != nil && err.Error() != c.want {
				t.Errorf("the end says %v, want %q", err, c.want)
			}
		})
	}
}
