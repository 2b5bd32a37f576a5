package split

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A split agrees with counting the samples one by one.
func TestSplitCountsSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0.01, 0.5)).Draw(t, "share")
		most := rapid.IntRange(0, 20).Draw(t, "most")
		s, err := New(share, most)
		if err != nil {
			t.Fatal(err)
		}
		every := math.Round(1 / share)
		held, trained := int64(0), int64(0)
		for sample := range int64(300) {
			if got := s.Before(sample); got != held {
				t.Fatalf("%d samples before %d are held out, want %d", got, sample, held)
			}
			want := share > 0 && math.Mod(float64(sample+1), every) == 0 && held < int64(most)
			if s.HeldOut(sample) != want {
				t.Fatalf("sample %d is held out: %v, want %v", sample, !want, want)
			}
			if want {
				if got, ok := s.Held(held); got != sample || !ok {
					t.Fatalf("held-out sample %d is %d and %v, want %d", held, got, ok, sample)
				}
				held++
				continue
			}
			if got := s.Trained(trained); got != sample {
				t.Fatalf("sample %d to train on is %d, want %d", trained, got, sample)
			}
			trained++
		}
		if most > 0 && held == int64(most) {
			if _, ok := s.Held(held); ok {
				t.Fatalf("there is a held-out sample %d but at most %d", held, most)
			}
		}
	})
}

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		share float64
		most  int
		want  string
	}{
		{-0.1, 1, "setting held_out is -0.1 but must be from 0 to 0.5"},
		{0.6, 1, "setting held_out is 0.6 but must be from 0 to 0.5"},
		{math.NaN(), 1, "setting held_out is NaN but must be from 0 to 0.5"},
		{0.1, -1, "setting held_out_samples is -1 but must be 0 or more"},
	} {
		t.Run(fmt.Sprint(c.share), func(t *testing.T) {
			if _, err := New(c.share, c.most); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("a share of %v and at most %d give %v, want %s", c.share, c.most, err, c.want)
			}
		})
	}
}
