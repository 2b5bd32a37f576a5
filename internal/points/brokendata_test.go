//go:build !race

package points

import (
	"io"

	"github.com/psbench/psbench/sdk"
)

// pair is data of two samples.
type pair struct{ sound }

var loads int64 // counted over all data in this test

func (d *pair) Load() (*sdk.Samples, error) {
	var b sdk.Batch
	b.Append([]int64{1}, 0)
	b.Append([]int64{2}, 1)
	switch loads++; {
	case d.has("other samples each time"):
		b.Indices[0] = loads
	case d.has("a target that is missing"):
		b.Targets = b.Targets[:1]
	case d.has("an index below 0"):
		b.Indices[1] = -1
	}
	return &sdk.Samples{Batch: b}, nil
}

// tape is a streamed pair.
type tape struct{ pair }

func (d *tape) Open() (sdk.SampleReader, error) { return &tapeReader{tape: d}, nil }

type tapeReader struct {
	tape *tape
	at   int
}

func (r *tapeReader) Read(b *sdk.Batch, n int) error {
	if n = min(n, 5-r.at); n == 0 {
		return io.EOF
	}
	*b = sdk.Batch{}
	for range n {
		b.Append([]int64{int64(r.at)}, int64(r.at))
		r.at++
	}
	return nil
}

func (r *tapeReader) Skip(n int) error {
	if !r.tape.has("Skip does nothing") {
		r.at = min(5, r.at+n)
	}
	return nil
}
func (*tapeReader) Origin(int, int) string { return "a tape" }
func (*tapeReader) Close() error           { return nil }
