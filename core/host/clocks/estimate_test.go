package clocks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// simulated is a clock whose offset is the sum of a line and a triangle wave. The triangle rises and falls as fast as
// the drift allows.
type simulated struct {
	offset, drift float64
	wander        float64 // slope of the triangle
	period        float64 // period of the triangle, in ns
}

// at returns how far the simulated clock is ahead when this clock reads ns.
func (s simulated) at(ns float64) float64 {
	x := math.Mod(ns, s.period)
	return s.offset + s.drift*ns + s.wander*min(x, s.period-x)
}

// From the end of the first exchange on, the true offset stays within the bound. The bound holds for all delays if the
// clocks do not drift more than assumed.
func TestTruthIsWithinTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		real := func(name string, least, most float64) float64 { return rapid.Float64Range(least, most).Draw(t, name) }
		share := real("share of wander", 0, 1)
		sum := real("drift", -0.98, 0.98) * steadiest // drift on this clock; the other clock sees slightly more
		s := simulated{offset: real("offset", -1e12, 1e12), drift: sum * (1 - share), wander: math.Abs(sum) * share,
			period: real("period", 1e8, 1e11)}
		now := real("start", 0, 1e13)
		var exchanges []Exchange
		for range rapid.IntRange(1, 40).Draw(t, "exchanges") {
			there, back := real("there", 100, 1e7), real("back", 100, 1e7)
			read := now + there
			exchanges = append(exchanges, Exchange{
				SentNS: int64(now), RemoteNS: int64(math.Round(read + s.at(read))),
				ReceivedNS: int64(math.Ceil(read + back)),
			})
			now = read + back + real("pause", 0, 5e9)
		}
		e := estimate(exchanges, int64(now))
		for range 50 {
			moment := real("moment", float64(exchanges[0].ReceivedNS), max(now, float64(exchanges[0].ReceivedNS)))
			remote := moment + s.at(moment)
			if got := float64(e.Here(int64(remote))); math.Abs(got-moment) > float64(e.BoundNS)+1 {
				t.Fatalf("at %.0f the estimate is off by %.0f, but its bound is %d: %+v", moment, got-moment, e.BoundNS,
					e)
			}
		}
	})
}

// The bound is about half of the shortest round trip, plus the possible drift during a pause.
func TestBoundIsTight(t *testing.T) {
	var exchanges []Exchange
	for i := range int64(10) {
		at := i * int64(time.Second)
		trip := int64(200_000)
		if i%3 == 1 {
			trip = 20_000_000 // round trip at a busy moment
		}
		exchanges = append(exchanges,
			Exchange{SentNS: at, RemoteNS: at + trip/2 + 5_000_000_000 + i*10_000, ReceivedNS: at + trip})
	}
	end := exchanges[9].ReceivedNS
	e := estimate(exchanges, end)
	if e.BoundNS < 100_000 || e.BoundNS > 100_000+160_000 {
		t.Errorf("the bound is %d ns", e.BoundNS)
	}
	if ahead := e.Ahead(exchanges[5].RemoteNS); math.Abs(float64(ahead-5_000_050_000)) > 1_000 ||
		math.Abs(e.Drift-10e-6) > 1e-6 {
		t.Errorf("it is %d ns ahead, and drifts by %g", ahead, e.Drift)
	}
	if later := estimate(exchanges, end+int64(10*time.Second)); later.BoundNS < e.BoundNS+800_000 ||
		later.BoundNS > e.BoundNS+1_300_000 {
		t.Errorf("10 s later the bound is %d ns", later.BoundNS)
	}
}

// Between two exchanges, the offset may change as fast as the drift allows and change back.
func TestBoundBetweenExchanges(t *testing.T) {
	for _, sign := range []float64{1, -1} {
		t.Run(fmt.Sprint(sign), func(t *testing.T) {
			s := simulated{offset: 1e9, wander: sign * steadiest * 0.999, period: 2e9}
			var exchanges []Exchange
			for _, at := range []float64{0, 2e9, 4e9} { // where the triangle is 0
				exchanges = append(exchanges,
					Exchange{SentNS: int64(at) - 50, RemoteNS: int64(at + s.at(at)), ReceivedNS: int64(at) + 50})
			}
			e := estimate(exchanges, 4e9+50)
			peak := 1e9 + s.at(1e9)
			if off := math.Abs(float64(e.Here(int64(peak))) - 1e9); off < 99_000 || off > float64(e.BoundNS) ||
				e.BoundNS > 101_000 {
				t.Errorf("at the peak of %g the estimate is off by %g, and its bound is %d", sign, off, e.BoundNS)
			}
		})
	}
}

// If a clock drifts more than assumed, this is detected, and the bound becomes wider.
func TestAClockThatIsSlewed(t *testing.T) {
	exchange := func(at, ahead int64) Exchange {
		return Exchange{SentNS: at, RemoteNS: at + 50 + ahead, ReceivedNS: at + 100}
	}
	e := estimate([]Exchange{exchange(0, 0), exchange(1e9, 500_000), exchange(2e9, 1_000_000)}, 2e9+100)
	if math.Abs(e.Drift-500e-6) > 1e-6 || e.BoundNS < 10_000 {
		t.Errorf("the estimate is %+v", e)
	}
}

func TestNothingIsKnown(t *testing.T) {
	if e := estimate(nil, 0); e.BoundNS != math.MaxInt64 {
		t.Errorf("of no exchange: %+v", e)
	}
	var own *Clock
	if e := own.Estimate(); e != (Estimate{}) || e.Here(7) != 7 {
		t.Errorf("the core's clock is %+v", e)
	}
	if e := Known(Of(time.Hour)).Estimate(); e.Here(int64(time.Hour)+5) != 5 || e.BoundNS != 0 {
		t.Errorf("a known clock is %+v", e)
	}
}

// A clock is read until it is settled. A failed question does no harm if other questions succeed.
func TestReadAndSettle(t *testing.T) {
	asked := 0
	c := New(func(context.Context) (int64, error) {
		if asked++; asked == 3 {
			return 0, errors.New("lost")
		}
		return int64(asked), nil
	})
	for range 2 {
		if err := c.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.exchanges) != 2 || asked != 2*questions {
		t.Errorf("%d questions gave %d exchanges", asked, len(c.exchanges))
	}
	c.Settle()
	before := c.Estimate()
	if err := c.Read(t.Context()); err != nil || asked != 2*questions || c.Estimate() != before {
		t.Errorf("a settled clock is asked %d times (%v), and is %+v", asked, err, c.Estimate())
	}
	gone := New(func(context.Context) (int64, error) { asked++; return 0, errors.New("no route to host") })
	asked = 0
	if err := gone.Read(t.Context()); err == nil || err.Error() != "no route to host" || asked != 1 {
		t.Errorf("after %d questions: %v", asked, err)
	}
}
