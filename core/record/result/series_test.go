package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/internal/packed"
	"github.com/psbench/psbench/sdk"
)

// golden1 is a result of schema 1, from a run of 400 short iterations on 2 trainers. golden1 is never rewritten,
// because psbench must always read such files.
const golden1 = "testdata/schema1.json.gz"

func readGolden1(t *testing.T) *Result {
	t.Helper()
	r, err := Read(golden1)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A file of schema 1 is read correctly. This test checks the contents without psbench's own code.
func TestSchema1IsRead(t *testing.T) {
	f, err := os.Open(golden1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	plain, err := jsonfile.Plain(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Schema  string
		Losses  [][]float64
		Samples []struct {
			Rank            int
			Type, Name, Key string
			StartNS         int64 `json:"start_ns"`
			DurationNS      int64 `json:"duration_ns"`
		}
	}
	if err := json.Unmarshal(text, &file); err != nil || file.Schema != schema1 || len(file.Samples) != 4400 {
		t.Fatalf("schema %q, %d samples, %v", file.Schema, len(file.Samples), err)
	}
	r := readGolden1(t)
	if r.Schema != Schema || !cmp.Equal(r.Losses, file.Losses) || len(r.Losses[0]) != 400 {
		t.Errorf("schema %q, %d losses", r.Schema, len(r.Losses))
	}
	next := 0
	for _, s := range r.Series {
		for m := range s.All() {
			got, want := fmt.Sprintln(s.Rank, s.Type, s.Name, m.Key, m.StartNS, m.DurationNS), file.Samples[next]
			if got != fmt.Sprintln(want.Rank, want.Type, want.Name, want.Key, want.StartNS, want.DurationNS) {
				t.Fatalf("sample %d is %s, in the file %+v", next, got, want)
			}
			next++
		}
	}
	if next != len(file.Samples) {
		t.Errorf("%d samples were read of %d", next, len(file.Samples))
	}
}

// If a result of schema 1 is written again, no data is lost. The compressed file takes less than 12 bytes per
// measurement, and the core takes less than 8 bytes of memory.
func TestSchema1BecomesASmallFile(t *testing.T) {
	r := readGolden1(t)
	path := filepath.Join(t.TempDir(), "r.json.gz")
	if err := Write(path, r, still); err != nil {
		t.Fatal(err)
	}
	again, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, again, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("written and read (-want +got):\n%s", diff)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	count, packedBytes := 0, 0
	for _, s := range r.Series {
		count += s.Len()
		for _, c := range s.measurements.Chunks() {
			packedBytes += len(c.Bytes())
		}
	}
	if each := float64(info.Size()) / float64(count); each >= 12 || each < 5 {
		t.Errorf("the file has %.2f bytes a measurement", each)
	}
	if each := float64(packedBytes) / float64(count); each >= 8 || each < 4 {
		t.Errorf("in memory there are %.2f bytes a measurement", each)
	}
}

// The core stores measurements from processes in less than 8 bytes each, including all overhead.
func TestMemoryOfTheCore(t *testing.T) {
	golden := readGolden1(t)
	var pieces [][]byte // pieces in the form in which they are received
	count := 0
	for range 230 {
		for _, s := range golden.Series {
			for _, c := range s.measurements.Chunks() {
				pieces = append(pieces, c.Bytes())
				count += c.Len()
			}
		}
	}
	var r Result
	before := heap()
	for i, data := range pieces {
		c, err := packed.ChunkOf[packed.Measurement](bytes.Clone(data))
		if err != nil {
			t.Fatal(err)
		}
		r.SeriesOf(i%4, "a", "b").Append(c)
	}
	each := float64(heap()-before) / float64(count)
	if each >= 8 || each < 4 || count < 1e6 {
		t.Errorf("%d measurements take %.2f bytes each", count, each)
	}
	runtime.KeepAlive(pieces)
	runtime.KeepAlive(&r)
}

// heap returns the number of bytes in use on the heap.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// All measurements are read back from a file unchanged.
func TestSeriesRoundTrip(t *testing.T) {
	small := rapid.Int64Range(-1<<60, 1<<60)
	measurement := rapid.Custom(func(t *rapid.T) sdk.Measurement {
		return sdk.Measurement{Key: sdk.Key{A: small.Draw(t, "a"), B: small.Draw(t, "b")},
			StartNS: small.Draw(t, "start"), DurationNS: small.Draw(t, "duration")}
	})
	rapid.Check(t, func(t *rapid.T) {
		want := example()
		want.StartedNS, want.Losses = small.Draw(t,
			"started"), [][]float64{rapid.SliceOf(rapid.Float64()).Draw(t, "losses")}
		for i := range rapid.IntRange(0, 3).Draw(t, "series") {
			want.Series = append(want.Series,
				NewSeries(0, "metric", strconv.Itoa(i), rapid.SliceOf(measurement).Draw(t, "measurements")...))
		}
		var text bytes.Buffer
		if err := WriteTo(&text, want, still); err != nil {
			t.Fatal(err)
		}
		got, err := parse(text.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// The text of a large result is never in memory as a whole. Writing allocates the same amount for few and for many
// measurements.
func TestWritingIsStreamed(t *testing.T) {
	allocated := func(n int64) uint64 {
		r := example()
		s := r.Series[0]
		for i := range n {
			s.Add(sdk.Measurement{Key: sdk.Key{A: i / 10, B: i % 10}, StartNS: i * 1e6, DurationNS: i * 1000})
		}
		r.Losses[0] = slices.Repeat([]float64{1. / 3}, int(n))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := WriteTo(io.Discard, r, still); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := allocated(10), allocated(200_000)
	if many > few+100_000 {
		t.Errorf("writing allocates %d bytes for few measurements and %d for many", few, many)
	}
}
