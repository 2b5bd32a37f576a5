package comm

import (
	"errors"
	"fmt"
	"testing"
)

type ended struct{ times int }

func (e *ended) Ended() { e.times++ }

// An Ender is notified once when its operation succeeds, and never when the
// operation fails.
func TestThenTellsOfTheEnd(t *testing.T) {
	p := NewPromise(nil)
	for i, c := range []struct {
		err   error
		after bool // Then is called after the operation ended
		want  int
	}{{nil, false, 1}, {nil, true, 1}, {errors.New("failed"), false, 0}, {errors.New("failed"), true, 0}} {
		t.Run(fmt.Sprint(c.want), func(t *testing.T) {
			e := &ended{}
			p.Begin()
			if !c.after {
				p.Future().Then(e)
			}
			p.Complete(c.err)
			if c.after {
				p.Future().Then(e)
			}
			p.Complete(c.err)
			p.Begin()
			p.Complete(nil)
			if e.times != c.want {
				t.Errorf("case %d: told %d times, not %d", i, e.times, c.want)
			}
		})
	}
}
