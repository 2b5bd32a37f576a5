package sdk

import (
	"errors"
	"strings"
	"testing"

	"github.com/psbench/psbench/sdk/proto"
)

type failing struct{ err error }

func (d failing) Load() (*Samples, error) { return nil, d.err }

// What is wrong with data names its kind and key, and what the part itself says its
// method, in one line of bounded length.
func TestErrorsOfDataNameThePart(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	far := bags(3)
	far.Targets[1] = 10
	spelled := bags(3)
	spelled.Targets[1], spelled.Origin = 10, func(int, int) string { return "a\x1b\n" }
	short := bags(3)
	short.Batches = []int{4}
	for _, c := range []struct {
		data Data
		want string
	}{
		{failing{errTape}, "data tape, Load: the tape is torn"},
		{failing{errors.New("two\nlines")}, `data tape, Load: two\nlines`},
		{failing{errors.New(long)}, "data tape, Load: " + long[:2000] + "... (1048576 bytes)"},
		{loaded{&Samples{}}, "data tape: the data holds no samples"},
		{loaded{far}, "data tape: sample 1: target 10 is outside the model's classes of 0 to 9"},
		{loaded{spelled}, `data tape: sample 1 (a\x1b\n): target 10 is outside the model's classes of 0 to 9`},
		{loaded{short}, "data tape: batch 0 of the data has 4 samples; it must have one at least, and at most the 3 that are left of 3"},
	} {
		parts := []Part{NewData("tape", struct{}{}, func(struct{}, DataEnv) (Data, error) { return c.data, nil })}
		r, err := newDataRole(stationOf(t, folder(t), parts, &proto.ConfigureRequest{
			Name: "data", Part: &proto.PartChoice{Kind: "data", Key: "tape"},
		}))
		if err == nil {
			_, err = r.deal(request(anyInputs, 3, 1))
		}
		if err == nil || told("data", err).Error() != c.want {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}
