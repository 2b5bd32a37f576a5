//go:build nvidia

package device

import (
	"testing"

	"pgregory.net/rapid"
)

// For any speed of the device's clock and any precision of its settings, no time is further off than reported. This
// includes times between two settings converted by the earlier one, and earlier times converted by the later one.
// Converted times never decrease.
func TestTimesAreOffByNoMoreThanIsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := 1 + rapid.Float64Range(-0.01, 0.01).Draw(t, "drift") // host time per device time
		drawn := func(what string, least, most int64) int64 { return rapid.Int64Range(least, most).Draw(t, what) }
		hostNS, beforeNS := int64(0), int64(0) // time of the setting; device time since the previous one
		errNS := drawn("error", 500, 50_000)
		s := newSetting(drawn("by", -errNS, errNS), errNS, 1)
		for range 5 {
			deviceNS := drawn("until the next setting", 1, 3_000_000_000)
			nextNS := hostNS + int64(float64(deviceNS)*rate)
			errNS := drawn("error", 500, 50_000)
			next, offNS := s.next(nextNS+drawn("by", -errNS, errNS), errNS, float64(deviceNS))
			for range 4 {
				after := drawn("after the setting", -beforeNS, deviceNS)
				is := hostNS + int64(float64(after)*rate)
				if off := s.at(float64(after)) - is; max(off, -off) > offNS+2 { // 2 ns of rounding
					t.Fatalf("%d ns after a setting a time is %d ns off, where %d are told", after, off, offNS)
				}
				if step := s.at(float64(after+100)) - s.at(float64(after)); step < 80 || step > 120 {
					t.Fatalf("%d ns after a setting 100 ns take %d", after, step)
				}
			}
			if told, anew := s.at(float64(deviceNS)), next.at(0); told != anew {
				t.Fatalf("what was told to be at %d ns is at %d after the next setting", told, anew)
			}
			s, beforeNS, hostNS = next, deviceNS, nextNS
		}
	})
}

// If the clock is set every second, the conversion follows the drift, and the reported error no longer includes it.
func TestDriftIsFollowed(t *testing.T) {
	const rate, errNS = 1 - 50e-6, 10_000
	s, offNS := newSetting(0, errNS, 1), int64(0)
	for n, want := range []int64{60_600, 60_600, 60_600, 10_600, 10_600} {
		s, offNS = s.next(int64(rate*float64((n+1)*settingNS)), errNS, settingNS)
		if offNS > want || offNS < want-100 {
			t.Errorf("in second %d times are off by up to %d ns, want %d", n, offNS, want)
		}
	}
}
