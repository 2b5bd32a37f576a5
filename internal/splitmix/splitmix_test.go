package splitmix

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The expected values in this file come from a Python program that follows the
// package comment.

func TestUint64(t *testing.T) {
	for _, c := range []struct {
		seed, number uint64
		want         []uint64
	}{
		{0, 0, []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f}},
		{5, 2, []uint64{0xa6159dd2ebe05652, 0x0d840f2dbb045a04, 0x83f504eca2bc6de1}},
	} {
		t.Run(fmt.Sprint(c.seed), func(t *testing.T) {
			s := New(c.seed, c.number)
			for i, want := range c.want {
				if got := s.Uint64(); got != want {
					t.Errorf("seed %d, stream %d: value %d is %#x, want %#x", c.seed, c.number, i, got, want)
				}
			}
		})
	}
}

func TestUniformBitForBit(t *testing.T) {
	for _, c := range []struct {
		seed, tensor uint64
		bound        float64
		head         []uint32
		xor          uint32 // XOR of the bits of the first 1000 values
	}{
		{1, 0, 1, []uint32{0xbe97feb8, 0x3f7a7192, 0xbf2edf84, 0x3f2fa58c}, 0x832951dc},
		{7, 3, 1 / math.Sqrt(1024), []uint32{0x3c5facbc, 0xbcc5a1a0, 0xbced484e, 0x3ce91c90}, 0x8cca6bcc},
		{math.MaxUint64, 12, 1 / math.Sqrt(10), []uint32{0x3e8dc639, 0x3e5db7f3, 0x3e138e2d, 0xbe9fc47c}, 0x83b4ce25},
	} {
		t.Run(fmt.Sprint(c.seed), func(t *testing.T) {
			values := make([]float32, 1000)
			Uniform(c.seed, c.tensor, values, float32(c.bound))
			var xor uint32
			for i, v := range values {
				bits := math.Float32bits(v)
				if i < len(c.head) && bits != c.head[i] {
					t.Errorf("seed %d, tensor %d: value %d is %#x, want %#x", c.seed, c.tensor, i, bits, c.head[i])
				}
				xor ^= bits
			}
			if xor != c.xor {
				t.Errorf("seed %d, tensor %d: the values' bits make %#x, want %#x", c.seed, c.tensor, xor, c.xor)
			}
		})
	}
}

func TestIntN(t *testing.T) {
	for _, c := range []struct {
		n    int
		want []int
	}{
		{100, []int{64, 5, 51, 69, 91, 93, 87, 2, 21, 8}},
		// These values make IntN skip some.
		{3 << 61, []int{4487866917762375774, 365220040689164737, 3565691850994395444, 4776488598636153295}},
	} {
		t.Run(fmt.Sprint(c.n), func(t *testing.T) {
			s := New(5, 2)
			var got []int
			for range c.want {
				got = append(got, s.IntN(c.n))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("IntN(%d) yields %v, want %v", c.n, got, c.want)
			}
		})
	}
}

func TestIntNStaysInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New(rapid.Uint64().Draw(t, "seed"), rapid.Uint64().Draw(t, "number"))
		n := rapid.IntRange(1, math.MaxInt).Draw(t, "n")
		if v := s.IntN(n); v < 0 || v >= n {
			t.Fatalf("IntN(%d) is %d", n, v)
		}
	})
}
