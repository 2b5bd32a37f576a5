package data

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

type failing struct{ err error }

func (d failing) Load() (*sdk.Samples, error) { return nil, d.err }

// An error in the data names the part's kind and key. An error returned by the part also names its
// method. Every error of the data is one line of bounded length.
func TestErrorsOfDataNameThePart(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	far := hosttest.Bags(3)
	far.Targets[1] = 10
	spelled := hosttest.Bags(3)
	spelled.Targets[1], spelled.Origin = 10, func(int, int) string { return "a\x1b\n" }
	short := hosttest.Bags(3)
	short.Batches = []int{4}
	for i, c := range []struct {
		data sdk.Data
		want string
	}{
		{failing{hosttest.ErrTape}, "data tape, Load: the tape is torn"},
		{failing{errors.New("two\nlines")}, `data tape, Load: two\nlines`},
		{failing{errors.New(long)}, "data tape, Load: " + long[:2000] + "... (1048576 bytes)"},
		{hosttest.Loaded{Samples: &sdk.Samples{}}, "data tape: the data holds no samples"},
		{hosttest.Loaded{Samples: far}, "data tape: sample 1: target 10 is outside the model's classes of 0 to 9"},
		{hosttest.Loaded{Samples: spelled},
			`data tape: sample 1 (a\x1b\n): target 10 is outside the model's classes of 0 to 9`},
		{hosttest.Loaded{Samples: short},
			"data tape: batch 0 of the data has 4 samples; it must have at least one, and at most the remaining 3 of 3"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			parts := []sdk.Part{sdk.NewData("tape", struct{}{}, func(struct{}, sdk.DataEnv) (sdk.Data, error) {
				return c.data, nil
			})}
			r, err := New(hosttest.Process(t, hosttest.Folder(t), parts, process.Config{
				Name: "data", Part: hosttest.Choice("data", "tape"),
			}), sdk.DataEnv{})
			if err == nil {
				_, err = r.Partition(request(hosttest.AnyInputs, 3, 1))
			}
			if err == nil || fault.Told("data", err).Error() != c.want {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}
