package stop

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPointOfSoManyIterations(t *testing.T) {
	p := After(3)
	for i, want := range []State{GoOn, GoOn, Over} {
		if got := p.Step(); got != want || p.Done() != int64(i+1) {
			t.Errorf("after %d iterations: %v, want %v", p.Done(), got, want)
		}
	}
	if err := p.End(5); err == nil {
		t.Error("it can be told to end elsewhere")
	}
}

func TestPointOfATimedPass(t *testing.T) {
	var p Point
	step := func(want ...State) {
		t.Helper()
		for _, state := range want {
			if got := p.Step(); got != state {
				t.Fatalf("after %d iterations: %v, want %v", p.Done(), got, state)
			}
		}
	}
	step(GoOn, GoOn)
	if err := p.End(9); err == nil {
		t.Error("it can be told where it ends without a bound")
	}
	if b := p.Bound(2); b != 4 {
		t.Fatalf("2 ahead of 2 is %d", b)
	}
	if b := p.Bound(100); b != 4 {
		t.Errorf("asked again it gives %d", b)
	}
	step(GoOn, Wait)
	if err := p.End(3); err == nil {
		t.Error("it can be told to end where it was")
	}
	if err := p.End(5); err != nil {
		t.Fatal(err)
	}
	if p.State() != GoOn {
		t.Errorf("at its bound, before its end: %v", p.State())
	}
	step(Over)
	if err := p.End(6); err == nil {
		t.Error("it can be told twice")
	}

	var slow Point // no iteration of this pass has ended
	if b := slow.Bound(0); b != 1 {
		t.Errorf("nothing ahead of nothing is %d", b)
	}
	if err := slow.End(1); err != nil || slow.Step() != Over {
		t.Errorf("its end is not the first iteration: %v", err)
	}

	var early Point // waits at its bound, which is the end
	early.Bound(1)
	if early.Step() != Wait {
		t.Error("it does not wait")
	}
	if err := early.End(1); err != nil || early.State() != Over {
		t.Errorf("at its end: %v, %v", early.State(), err)
	}
}

func TestTogether(t *testing.T) {
	for name, c := range map[string]struct {
		sets [][]int
		want []int64
	}{
		"all":       {[][]int{{0, 1, 2, 3}}, []int64{9, 9, 9, 9}},
		"by server": {[][]int{{0, 1}, {2, 3}}, []int64{9, 9, 4, 4}},
		"alone":     {[][]int{{0}, {1}, {2}, {3}}, []int64{7, 9, 3, 4}},
	} {
		bounds := []int64{7, 9, 3, 4}
		if d := cmp.Diff(c.want, Together(bounds, c.sets)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if !slices.Equal(bounds, []int64{7, 9, 3, 4}) {
			t.Errorf("%s: the bounds became %v", name, bounds)
		}
	}
}

// world simulates trainers that end a timed pass together, and the core's calls to them.
type world struct {
	trainers []Point
	over     []bool
	arrived  []int64 // iterations that a trainer has begun; it is inside one if this exceeds the ended ones
	set      []int   // set number of each trainer
	lockstep []bool  // by set: an iteration ends only once all trainers have begun it
	bounds   []int64
	asked    []bool
	told     []bool
	ends     []int64
}

// may reports whether trainer i can begin an iteration, or end its current one.
func (w *world) may(i int) (begin, end bool) {
	p := &w.trainers[i]
	if w.over[i] {
		return false, false
	}
	if w.arrived[i] == p.Done() {
		return p.State() == GoOn, false
	}
	for j := range w.trainers {
		if w.lockstep[w.set[i]] && w.set[j] == w.set[i] && w.arrived[j] < w.arrived[i] {
			return false, false
		}
	}
	return false, true
}

// Connected trainers end after the same iteration, for every interleaving of their iterations and
// the core's calls. The trainers may or may not wait for each other in each iteration. No trainer
// passes a bound or waits for ever.
func TestTrainersEndTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "trainers")
		w := world{
			trainers: make([]Point, n), over: make([]bool, n), arrived: make([]int64, n), set: make([]int, n),
			lockstep: make([]bool, n), bounds: make([]int64, n), asked: make([]bool, n), told: make([]bool, n),
		}
		sets := make([][]int, n)
		for i := range n {
			w.set[i] = rapid.IntRange(0, n-1).Draw(t, "set")
			sets[w.set[i]] = append(sets[w.set[i]], i)
			w.lockstep[i] = rapid.Bool().Draw(t, "lockstep")
		}
		free := rapid.IntRange(0, 200).Draw(t, "steps before the core asks")
		for step := 0; ; step++ {
			var moves []func()
			for i := range n {
				begin, end := w.may(i)
				switch {
				case begin:
					moves = append(moves, func() { w.arrived[i]++ })
				case end:
					moves = append(moves, func() { w.over[i] = w.trainers[i].Step() == Over })
				}
				switch {
				case step < free:
				case !w.asked[i]:
					moves = append(moves, func() {
						w.asked[i], w.bounds[i] = true, w.trainers[i].Bound(rapid.Int64Range(0, 5).Draw(t, "ahead"))
					})
				case w.ends != nil && !w.told[i]:
					moves = append(moves, func() {
						w.told[i] = true
						if err := w.trainers[i].End(w.ends[i]); err != nil {
							t.Fatal(err)
						}
						w.over[i] = w.over[i] || w.arrived[i] == w.trainers[i].Done() && w.trainers[i].State() == Over
					})
				}
			}
			if len(moves) == 0 {
				break
			}
			rapid.SampledFrom(moves).Draw(t, "move")()
			if w.ends == nil && !slices.Contains(w.asked, false) {
				w.ends = Together(w.bounds, sets)
			}
			for i, p := range w.trainers {
				if w.asked[i] && !w.told[i] && p.Done() > w.bounds[i] {
					t.Fatalf("trainer %d is at %d, past its bound of %d", i, p.Done(), w.bounds[i])
				}
			}
		}
		for i, p := range w.trainers {
			if !w.over[i] || p.Done() != w.ends[i] || p.Done() < 1 {
				t.Fatalf("trainer %d ended: %v, at %d of %d", i, w.over[i], p.Done(), w.ends[i])
			}
			if first := sets[w.set[i]][0]; p.Done() != w.trainers[first].Done() {
				t.Fatalf("connected trainers ended after %d and %d iterations", p.Done(), w.trainers[first].Done())
			}
		}
	})
}
