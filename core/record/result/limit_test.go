package result

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A text with exactly the maximum size is read, whether compressed or not, from a file or a pipe. A text with one more
// byte is refused.
func TestTextIsBounded(t *testing.T) {
	const most = 100_000
	for _, length := range []int{1, 511, most - 1, most, most + 1, 50 * most} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			text := []byte("{" + strings.Repeat(" ", length-1))
			for _, compressed := range []bool{false, true} {
				content := text
				if compressed {
					content = compress(t, text)
				}
				path := filepath.Join(t.TempDir(), "r")
				if err := os.WriteFile(path, content, 0o600); err != nil {
					t.Fatal(err)
				}
				for _, open := range []func() *os.File{
					func() *os.File {
						f, err := os.Open(path)
						if err != nil {
							t.Fatal(err)
						}
						return f
					},
					func() *os.File { return pipeOf(t, content) },
				} {
					f := open()
					got, err := readText(f, most)
					_ = f.Close()
					switch {
					case length <= most && (err != nil || !bytes.Equal(got, text)):
						t.Errorf("%d bytes, compressed %v: read %d, %v", length, compressed, len(got), err)
					case length > most &&
						(err == nil ||
							!strings.Contains(err.Error(),
								"its text has more than 100000 bytes, the most that psbench reads")):
						t.Errorf("%d bytes, compressed %v: %v", length, compressed, err)
					case length > most && got != nil && cap(got) > 2*most+2*512:
						t.Errorf("%d bytes are kept of what is refused", cap(got))
					case length <= most && f.Name() == path && cap(got) > 2*length+1024:
						t.Errorf("%d bytes take %d", length, cap(got))
					}
				}
			}
		})
	}
}

func compress(t *testing.T, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func pipeOf(t *testing.T, content []byte) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = w.Write(content) // fails if the reader stops
		_ = w.Close()
	}()
	return r
}

// samplesOf returns a file of schema 1 that contains two samples for each of many metrics.
func samplesOf(names int) []byte {
	text := bytes.NewBufferString(`{"schema":"psbench.result/1","processes":[{"kind":"server"}],"samples":[`)
	for i := range 2 * names {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(text, `{"type":"a","name":"n%d","key":"0,%d"}`, i%names, i)
	}
	text.WriteString("]}")
	return text.Bytes()
}

func TestManySeries(t *testing.T) {
	const names = 1000
	r, err := parse(samplesOf(names))
	if err != nil || len(r.Series) != names {
		t.Fatal(err)
	}
	for i, s := range r.Series {
		if s.Name != fmt.Sprintf("n%d", i) || s.Len() != 2 {
			t.Errorf("series %d is %s with %d measurements", i, s.Name, s.Len())
		}
	}
}

// The time per series should be the same for few and for many series.
func BenchmarkManySeries(b *testing.B) {
	for _, names := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(names), func(b *testing.B) {
			text := samplesOf(names)
			for b.Loop() {
				if _, err := parse(text); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*names), "ns/series")
		})
	}
}
