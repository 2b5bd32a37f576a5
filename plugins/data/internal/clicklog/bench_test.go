package clicklog

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/plugins/data/generated"
	"github.com/psbench/psbench/plugins/data/internal/datafile"
	"github.com/psbench/psbench/sdk"
)

// BenchmarkClickLog reads the built-in sample in batches of 128. BenchmarkClickLog counts bytes of the uncompressed
// text. PSBENCH_CLICK_LOG names another log to read; its bytes count as stored.
func BenchmarkClickLog(b *testing.B) {
	unpacked, err := datafile.InMemory("clicks", generated.Clicks).Open("auto")
	if err != nil {
		b.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		content []byte
	}{
		{"plain", text},
		{"csv", bytes.ReplaceAll(text, []byte("\t"), []byte(","))},
		{"gzip", pack(b, text, "gzip")},
		{"zstd", pack(b, text, "zstd")},
	} {
		b.Run(c.name, func(b *testing.B) {
			l := newLog(datafile.InMemory("log", c.content))
			if samples, lines := drain(b, l.Open()), bytes.Count(text, []byte("\n")); samples != lines {
				b.Fatalf("%d samples are read of %d lines", samples, lines)
			}
			b.ReportAllocs()
			measure(b, int64(len(text)), func() { drain(b, l.Open()) })
		})
	}
	b.Run("skip", func(b *testing.B) {
		l := newLog(datafile.InMemory("log", text))
		drain(b, l.Open())
		measure(b, int64(len(text)), func() {
			r := l.Open()
			if err := errors.Join(r.Skip(math.MaxInt), r.Close()); err != nil {
				b.Fatal(err)
			}
		})
	})
	if path := os.Getenv("PSBENCH_CLICK_LOG"); path != "" {
		b.Run("file", func(b *testing.B) {
			info, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			l := newLog(datafile.OnDisk(path, 0))
			measure(b, info.Size(), func() { drain(b, l.Open()) })
		})
	}
}

// measure also reports bytes per second of processor time. Other processes on a busy machine disturb this figure
// less.
func measure(b *testing.B, size int64, read func()) {
	b.SetBytes(size)
	start := processorTime(b)
	for b.Loop() {
		read()
	}
	b.ReportMetric(float64(size)*float64(b.N)/1e6/(processorTime(b)-start).Seconds(), "MB/core-s")
}

func processorTime(b *testing.B) time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func drain(tb testing.TB, r *Reader) (samples int) {
	tb.Helper()
	var batch sdk.Batch
	for {
		err := r.Read(&batch, 128)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
		samples += batch.Size()
	}
	if err := r.Close(); err != nil {
		tb.Fatal(err)
	}
	return samples
}

// fataler is implemented by testing.TB and rapid.T.
type fataler interface{ Fatal(...any) }

func pack(tb fataler, text []byte, form string) []byte {
	var out bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&out)
	if form == "zstd" {
		z, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		if err != nil {
			tb.Fatal(err)
		}
		w = z
	}
	if _, err := w.Write(text); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// newLog returns a log of these files for tables of 1000 rows. The log's numbers become logarithms.
func newLog(files ...datafile.File) *Log {
	rows := make([]int, Categories)
	for k := range rows {
		rows[k] = 1000
	}
	return &Log{Files: files, Compression: "auto", LogNumbers: true, Rows: rows}
}
