package batches

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// making is a trainer whose Preprocess returns the batches in out.
type making struct {
	hosttest.ToyTrainer
	out []sdk.Batch
	err error
}

func (m *making) Preprocess([]sdk.Batch) ([]sdk.Batch, error) { return m.out, m.err }

func TestPreprocessingMustKeepWhatWasCounted(t *testing.T) {
	in := sdk.InputSpec{Rows: 4, Classes: 2}
	batch := func(bags ...[]int64) sdk.Batch { return hosttest.Samples(bags, make([]int64, len(bags))...).Batch }
	given := []sdk.Batch{batch([]int64{0}, []int64{1}), batch([]int64{2})}
	p := hosttest.Process(t, hosttest.Folder(t), nil, process.Config{Name: "trainer1"})
	for want, m := range map[string]*making{
		"trainer1 made 1 batches of 2 while preprocessing them":                                    {out: given[:1]},
		"trainer1 made a batch of 2 samples of one of 1 while":                                     {out: []sdk.Batch{given[0], given[0]}},
		"trainer1, preprocessing its batches: preprocessed sample 2, position 0: index 4 is outsi": {out: []sdk.Batch{given[0], batch([]int64{4})}},
		"trainer1, preprocessing its batches: no":                                                  {err: errors.New("no")},
		"trainer1 made a batch with lists of [2 3 1 0 0] while preprocessing it":                   {out: []sdk.Batch{given[0], batch([]int64{2, 2, 2})}},
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			r := &fetcher{p, m, in}
			if _, err := r.preprocess(given, &Lengths{3, 2, 2, 0}); err == nil ||
				!strings.HasPrefix(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
	r := &fetcher{p, &making{}, in}
	if got, err := r.preprocess(given, nil); err != nil || &got[0] != &given[0] {
		t.Errorf("batches that are to stay as they are became %v, %v", got, err)
	}
}
