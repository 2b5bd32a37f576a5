package trainer

import (
	"math"

	"github.com/psbench/psbench/internal/host/record"
)

// scores counts the samples of each class by score, as bfloat16 holds it. That tells the
// order of any two samples whose scores differ by 1 % or more.
type scores [2*worstBin + 1]struct{ positives, negatives uint32 }

// worstBin lies beyond those of all numbers.
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

// binOf is the upper half of a score's bits as a number that rises with it, from
// -worstBin+1 to worstBin-1. Both zeros are 0.
func binOf(score float32) int32 {
	bits := math.Float32bits(score)
	bin := int32(bits >> 16 & (worstBin - 1)) // #nosec G115 -- 15 bits
	if bits>>31 != 0 {
		return -bin
	}
	return bin
}

// appendTo lists the bins that hold samples, in ascending order.
func (s *scores) appendTo(bins []record.Bin) []record.Bin {
	for i := range s {
		if c := &s[i]; c.positives+c.negatives > 0 {
			bins = append(bins, record.Bin{Bin: int32(i - worstBin), Positives: int64(c.positives), Negatives: int64(c.negatives)}) // #nosec G115 -- 17 bits
		}
	}
	return bins
}
