package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/checked"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/numeral"
)

// ulp is the distance between float32 numbers near 1.
const ulp = 1.0 / (1 << 23)

// column holds the right value of one element, computed from the values of all members.
type column struct {
	want    float64
	allowed float64 // largest allowed deviation
	open    bool    // the right value is unknown
	many    bool    // a partial sum may have overflowed float32
}

// sum returns the sum of the members' values times a factor. The order of the sum is not known. Each of the T-1
// additions may round a sum that is at most the sum of the absolute values. The result is rounded once more.
func sum(values []float32, factor float64) column {
	total, magnitude := 0.0, 0.0
	for _, v := range values {
		total += float64(v)
		magnitude += math.Abs(float64(v))
	}
	return bounded(total*factor, magnitude*factor, len(values), magnitude > math.MaxFloat32)
}

// bounded returns a value with the allowed deviation of a sum of this many summands.
func bounded(want, magnitude float64, summands int, many bool) column {
	return column{want: want,
		allowed: float64(summands)*ulp*magnitude + ulp*math.Abs(want) + math.SmallestNonzeroFloat32, many: many}
}

// fits reports whether got lies within the allowed deviation.
func (c column) fits(got float32) bool {
	g := float64(got)
	switch {
	case c.open, g == c.want, c.many && !numeral.Finite(g):
		return true
	case math.IsNaN(c.want):
		return math.IsNaN(g)
	case math.IsInf(c.want, 0) || math.IsInf(c.allowed, 0):
		return false
	}
	return math.Abs(g-c.want) <= c.allowed
}

func exactly(v float32) column { return column{want: float64(v)} }

// equal reports whether all members must end with bit-identical results.
func (op *operation) equal() bool {
	if op.link == checked.LinkHook { // hooks have a contract and a check of their own
		return false
	}
	switch op.operation {
	case record.PushPull, record.AllReduce, record.Average:
		return true
	}
	return false
}

// compare checks the result of each member and returns the number of compared elements.
func (op *operation) compare() (elements int, m *Mismatch, err error) {
	if op.spec.Sparse {
		return op.compareRows()
	}
	for i, x := range op.members {
		expected, err := op.expected(i)
		if err != nil {
			return 0, nil, err
		}
		for e, c := range expected {
			if c.open {
				continue
			}
			elements++
			if m := op.difference(i, op.place.Element(e), x.Got.Values[e], op.members[0].Got.Values[e], c); m != nil {
				return elements, m, nil
			}
		}
	}
	return elements, nil, nil
}

// difference describes the error in an element of a member. It returns nil if the element is right.
func (op *operation) difference(member, element int, got, first float32, c column) *Mismatch {
	switch {
	case !c.fits(got):
		return op.mismatch(member, element, fmt.Sprintf("%v instead of %v", got, float32(c.want)))
	case op.equal() && math.Float32bits(got) != math.Float32bits(first) && got == got: //nolint:gocritic // NaN
		return op.mismatch(member, element, fmt.Sprintf("%v, but %v on %s", got, first, op.run.Names[op.ranks[0]]))
	}
	return nil
}

func (op *operation) mismatch(member, element int, got string) *Mismatch {
	return &Mismatch{
		Bucket: op.bucket, Element: element, Rank: op.run.Names[op.ranks[member]], Batch: op.batch,
		Operation: op.operation.String(), Link: op.link, Got: got,
	}
}

// expected returns the right result of one member for a dense slice.
func (op *operation) expected(member int) ([]column, error) {
	if op.asks() {
		return op.answered(member)
	}
	n, members := len(op.members[0].Sent.Values), len(op.members)
	out := make([]column, n)
	switch op.operation {
	case record.PushPull, record.AllReduce, record.Average, record.ReduceScatter:
		op.sums(out, member)
	case record.Broadcast:
		for e := range out {
			out[e] = exactly(op.members[op.members[0].Root].Sent.Values[e])
		}
	case record.AllGather:
		for e := range out {
			for owner := range members {
				if from, to := tensor.Shard(op.spec.Elements, members, owner); op.place.Element(e) >= from &&
					op.place.Element(e) < to {
					out[e] = exactly(op.members[owner].Sent.Values[e])
				}
			}
		}
	case record.AllToAll:
		span := op.place.Span
		for e := range out {
			out[e] = exactly(op.members[e/span].Sent.Values[member*span+e%span])
		}
	default:
		return nil, fmt.Errorf("%s kept an exchange without an operation", op.run.Names[op.ranks[member]])
	}
	return out, nil
}

// sums fills out with the sums over all members. For a reduce-scatter it uses only the member's shard.
func (op *operation) sums(out []column, member int) {
	values := make([]float32, len(op.members))
	from, to := tensor.Shard(op.spec.Elements, len(op.members), member)
	for e := range out {
		if at := op.place.Element(e); op.operation == record.ReduceScatter && (at < from || at >= to) {
			out[e].open = true
			continue
		}
		for i, x := range op.members {
			values[i] = x.Sent.Values[e]
		}
		out[e] = sum(values, op.factor())
	}
}

// answered returns the server's answer, which all members receive.
func (op *operation) answered(member int) ([]column, error) {
	if member > 0 && op.answer != nil {
		return op.answer, nil
	}
	pushed := make([][]float32, len(op.members))
	for i, x := range op.members {
		pushed[i] = slices.Clone(x.Sent.Values)
	}
	answers, err := op.run.Combine(op.server, [][][]float32{pushed})
	if err != nil {
		return nil, err
	}
	op.answer = make([]column, len(answers[0]))
	for e, want := range answers[0] {
		op.answer[e] = near(want, pushed, e)
	}
	return op.answer, nil
}

// near returns the allowed range around a server's answer. The server may combine the gradients in another order if it
// is asked again.
func near(want float32, pushed [][]float32, e int) column {
	magnitude := 0.0
	for _, p := range pushed {
		magnitude += math.Abs(float64(p[e]))
	}
	return bounded(float64(want), magnitude, len(pushed), magnitude > math.MaxFloat32)
}
