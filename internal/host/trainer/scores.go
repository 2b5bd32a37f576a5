package trainer

import (
	"math"

	"github.com/psbench/psbench/internal/host/record"
)

// scores counts the samples of each class by score, rounded to bfloat16. The counts show the order
// of any two samples whose scores differ by 1 % or more.
type scores [2*worstBin + 1]struct{ positives, negatives uint32 }

// worstBin is larger than the bin of every number.
const worstBin = 1 << 15

func (s *scores) reset() { *s = scores{} }

// count adds a sample. A NaN is the worst score for its class.
func (s *scores) count(score float32, positive bool) {
	switch bin := binOf(score); {
	case positive && score != score:
		s[0].positives++
	case score != score:
		s[2*worstBin].negatives++
	case positive:
		s[bin+worstBin].positives++
	default:
		s[bin+worstBin].negatives++
	}
}

// binOf maps a score to a bin number from -worstBin+1 to worstBin-1. binOf uses the upper half of
// the score's bits, so the bin number rises with the score. Both zeros have bin 0.
func binOf(score float32) int32 {
	bits := math.Float32bits(score)
	bin := int32(bits >> 16 & (worstBin - 1)) // #nosec G115 -- 15 bits
	if bits>>31 != 0 {
		return -bin
	}
	return bin
}

// appendTo appends the bins that hold samples, in ascending order.
func (s *scores) appendTo(bins []record.Bin) []record.Bin {
	for i := range s {
		if c := &s[i]; c.positives+c.negatives > 0 {
			bins = append(bins, record.Bin{Bin: int32(i - worstBin), Positives: int64(c.positives), Negatives: int64(c.negatives)}) // #nosec G115 -- 17 bits
		}
	}
	return bins
}
