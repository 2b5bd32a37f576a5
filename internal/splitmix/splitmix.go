// Package splitmix provides the pseudo-random streams for initial weights and generated data. A stream is a pure
// function of a seed and a stream number. Any language can reproduce it bit for bit:
//
//	state  = seed*1000003 + number                    (mod 2^64)
//	state += 0x9E3779B97F4A7C15                       before each value
//	x      = state
//	x      = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9
//	x      = (x ^ (x >> 27)) * 0x94D049BB133111EB
//	value  = x ^ (x >> 31)                            (SplitMix64)
//
// Models number their streams by parameter tensor, from 0 in registration order.
package splitmix

import "math/bits"

const (
	seedStride  = 1000003
	stateStride = 0x9E3779B97F4A7C15
)

// Stream yields the values of one stream in order. Stream is not safe for concurrent use.
type Stream struct{ state uint64 }

// New starts the stream of the given seed and number at its first value.
func New(seed, number uint64) *Stream {
	return &Stream{state: seed*seedStride + number}
}

// Uint64 returns the next value of the stream.
func (s *Stream) Uint64() uint64 {
	s.state += stateStride
	x := s.state
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// IntN returns a uniform integer in [0, n), for n > 0: the high half of the 128-bit product of n and the next
// value. IntN skips values whose low half is below 2^64 mod n, which makes the result free of bias.
func (s *Stream) IntN(n int) int {
	threshold := -uint64(n) % uint64(n) // #nosec G115 -- n > 0
	for {
		high, low := bits.Mul64(uint64(n), s.Uint64()) // #nosec G115 -- n > 0
		if low >= threshold {
			return int(high) // #nosec G115 -- below n
		}
	}
}

// Uniform fills dst with float32 values in [-bound, bound) from the start of the stream. Let u be the top 24 bits
// of a value divided by 2^24, which float32 holds exactly. The element is then (2u - 1) * bound.
func Uniform(seed, tensor uint64, dst []float32, bound float32) {
	s := New(seed, tensor)
	for i := range dst {
		u := float32(s.Uint64()>>40) / (1 << 24)
		dst[i] = (2*u - 1) * bound
	}
}
