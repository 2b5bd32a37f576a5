package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/psbench/psbench/internal/host/record"
)

// rows maps the row numbers that an operation on sparse gradients must return to the right values of the rows.
type rows map[int32][]column

// compareRows is the version of compare for sparse gradients. It goes through the rows in the order of the slice. It
// checks a row in a member's result only if the slices that all members sent reach as far as this row, and so does the
// slice of the result that this member kept.
func (op *operation) compareRows() (elements int, m *Mismatch, err error) {
	until := op.spec.TableRows
	for _, x := range op.members {
		until = min(until, x.Sent.Until)
	}
	want, err := op.expectedRows(until)
	if err != nil {
		return 0, nil, err
	}
	numbers := slices.SortedFunc(maps.Keys(want), op.inSlice)
	for i, x := range op.members {
		n, m := op.compareMember(i, &x.Got, min(until, x.Got.Until), numbers, want)
		elements += n
		if m != nil {
			return elements, m, nil
		}
	}
	return elements, nil, nil
}

// inSlice orders two rows as they lie in a slice.
func (op *operation) inSlice(a, b int32) int { return op.place.After(a) - op.place.After(b) }

// compareMember checks the result of one member. It stops at the first row whose place in the slice is not before
// until.
func (op *operation) compareMember(member int, got *record.Slice, until int, numbers []int32,
	want rows) (elements int, m *Mismatch) {
	span := op.place.Span
	place := func(row int32, column int) int { return int(row)*op.spec.Width + op.place.Column + column }
	next := 0
	for at, row := range got.Rows {
		if op.place.After(row) >= until {
			break
		}
		if next == len(numbers) || op.inSlice(row, numbers[next]) < 0 {
			return elements, op.mismatch(member, place(row, 0), fmt.Sprintf("row %d, which no rank has", row))
		}
		if row != numbers[next] {
			break
		}
		for e, c := range want[row] {
			elements++
			v := got.Values[at*span+e]
			if m := op.difference(member, place(row, e), v, op.first(row, e, v), c); m != nil {
				return elements, m
			}
		}
		next++
	}
	if next < len(numbers) && op.place.After(numbers[next]) < until {
		return elements, op.mismatch(member, place(numbers[next], 0), fmt.Sprintf("no row %d", numbers[next]))
	}
	return elements, nil
}

// first returns an element of the first member's result. If that member did not keep the element, first returns
// otherwise.
func (op *operation) first(row int32, e int, otherwise float32) float32 {
	got := &op.members[0].Got
	if at, ok := slices.BinarySearchFunc(got.Rows, row, op.inSlice); ok {
		return got.Values[at*op.place.Span+e]
	}
	return otherwise
}

// expectedRows returns the right values of all rows whose place in the slice is before until.
func (op *operation) expectedRows(until int) (rows, error) {
	senders := op.members
	if op.operation == record.Broadcast {
		senders = op.members[op.members[0].Root:][:1]
	}
	have := map[int32][][]float32{}
	for _, x := range senders {
		for at, row := range x.Sent.Rows {
			if op.place.After(row) < until {
				have[row] = append(have[row], x.Sent.Values[at*op.place.Span:][:op.place.Span])
			}
		}
	}
	if op.asks() {
		return op.answeredRows(have)
	}
	switch op.operation {
	case record.PushPull, record.Broadcast, record.AllReduce, record.Average:
	default:
		return nil, fmt.Errorf("%s kept an exchange of rows by %q, which exchanges no rows", op.run.Names[op.ranks[0]],
			op.operation)
	}
	out := rows{}
	for row, values := range have {
		out[row] = sumRow(values, op.factor())
	}
	return out, nil
}

func sumRow(values [][]float32, factor float64) []column {
	out := make([]column, len(values[0]))
	element := make([]float32, len(values))
	for e := range out {
		for i := range values {
			element[i] = values[i][e]
		}
		out[e] = sum(element, factor)
	}
	return out
}

// answeredRows returns the server's answers to rows, each of which several members pushed. It asks for all rows in one
// call.
func (op *operation) answeredRows(have map[int32][][]float32) (rows, error) {
	numbers := slices.Sorted(maps.Keys(have))
	out, pushed := rows{}, make([][][]float32, len(numbers))
	for i, row := range numbers {
		for _, values := range have[row] {
			pushed[i] = append(pushed[i], slices.Clone(values))
		}
	}
	if len(pushed) == 0 {
		return out, nil
	}
	answers, err := op.run.Combine(op.server, pushed)
	if err != nil {
		return nil, err
	}
	for i, row := range numbers {
		out[row] = make([]column, len(answers[i]))
		for e, want := range answers[i] {
			out[row][e] = near(want, have[row], e)
		}
	}
	return out, nil
}
