package simd

import "testing"

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name    string
		best    Level
		want    Level
		message string
	}{
		{"", AVX512, AVX512, ""},
		{"", Portable, Portable, ""},
		{"portable", AVX512, Portable, ""},
		{"avx2", AVX512, AVX2, ""},
		{"avx512", AVX512, AVX512, ""},
		{"avx512", AVX2, Portable, "PSBENCH_SIMD is avx512 but this machine has avx2 at best"},
		{"sse", AVX2, Portable, `PSBENCH_SIMD is "sse" but must be one of portable, avx2, avx512`},
		{"AVX2", AVX2, Portable, `PSBENCH_SIMD is "AVX2" but must be one of portable, avx2, avx512`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := choose(c.name, c.best)
			message := ""
			if err != nil {
				message = err.Error()
			}
			if got != c.want || message != c.message {
				t.Errorf("%q with %s at best is %s, %q, want %s, %q", c.name, c.best, got, message, c.want, c.message)
			}
		})
	}
}

func TestAvailable(t *testing.T) {
	levels := Available()
	if levels[0] != Portable || levels[len(levels)-1] != best() {
		t.Errorf("the levels of a machine with %s at best are %v", best(), levels)
	}
	for _, l := range levels {
		if parsed, err := Parse(l.String()); parsed != l || err != nil {
			t.Errorf("%s is parsed as %s, %v", l, parsed, err)
		}
	}
}
