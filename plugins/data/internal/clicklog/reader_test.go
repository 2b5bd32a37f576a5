package clicklog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/plugins/data/internal/datafile"
	"github.com/psbench/psbench/plugins/data/internal/split"
	"github.com/psbench/psbench/sdk"
)

// sampleLine returns the line of a sample that has n as its first number, so that tests recognize it.
func sampleLine(n int) string {
	return fmt.Sprintf("%d\t%d%s%s", n%2, n, strings.Repeat("\t3", Numbers-1), strings.Repeat("\tab", Categories))
}

// numbered returns a log of n samples in several files, with malformed lines among them.
func numbered(t *rapid.T, n int) (l *Log, malformed int) {
	var files []datafile.File
	var text []byte
	header := rapid.Bool().Draw(t, "header")
	form := rapid.SampledFrom([]string{"none", "gzip", "zstd"}).Draw(t, "form")
	for sample := range n {
		if len(text) == 0 && header {
			text = append(text, strings.Repeat("name\t", columns-1)+"name\n"...)
		}
		bad := rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2}).Draw(t, "malformed lines")
		for range bad {
			malformed++
			text = append(text, "1\t2\tx\n"...)
		}
		text = append(text, sampleLine(sample)+"\n"...)
		if rapid.IntRange(0, 9).Draw(t, "empty row") == 0 {
			text = append(text, strings.Repeat("\t", columns-1)+"\r\n"...)
		}
		if sample == n-1 || rapid.IntRange(0, 9).Draw(t, "ends a file") == 0 {
			content := text
			if form != "none" {
				content = pack(t, text, form)
			}
			files = append(files, datafile.InMemory(fmt.Sprintf("part%d", len(files)), content))
			text = nil
		}
	}
	l = newLog(files...)
	l.LogNumbers, l.MaxMalformed = false, malformed+1
	return l, malformed
}

// Any mixture of Read and Skip yields the same samples as reading everything, both before and after the first
// complete pass.
func TestReadAndSkip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "samples")
		l, malformed := numbered(t, n)
		var err error
		l.Split, err = split.New(rapid.SampledFrom([]float64{0, 0.5, 0.3, 0.1}).Draw(t, "held out"),
			rapid.IntRange(0, 9).Draw(t, "at most"))
		if err != nil {
			t.Fatal(err)
		}
		var want, held []float32
		for sample := range n {
			if l.Split.HeldOut(int64(sample)) {
				held = append(held, float32(sample))
			} else {
				want = append(want, float32(sample))
			}
		}
		for _, read := range []string{"before", "after"} {
			r := l.Open()
			if (r.passed == nil) != (read == "before") {
				t.Fatalf("%s all has been read a reader knows %v", read, r.passed)
			}
			checkReadAndSkip(t, r, want)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if lines, last := l.Malformed(); lines != malformed || (last == nil) != (malformed == 0) {
				t.Fatalf("%d lines were malformed, the last by %v; want %d", lines, last, malformed)
			}
			checkHeldOut(t, l, held)
		}
	})
}

func checkReadAndSkip(t *rapid.T, r *Reader, want []float32) {
	var b sdk.Batch
	for at := 0; ; {
		skip, read := rapid.IntRange(0, 12).Draw(t, "skip"), rapid.IntRange(1, 12).Draw(t, "read")
		if err := r.Skip(skip); err != nil {
			t.Fatal(err)
		}
		at = min(at+skip, len(want))
		err := r.Read(&b, read)
		if at == len(want) {
			if !errors.Is(err, io.EOF) || b.Size() != 0 {
				t.Fatalf("at the end there are %d samples and %v", b.Size(), err)
			}
			return
		}
		expected := want[at:min(at+read, len(want))]
		if err != nil || b.Size() != len(expected) || len(b.Features) != Numbers*b.Size() ||
			len(b.Targets) != b.Size() {
			t.Fatalf("there are %d samples, %d numbers and %v, want %d samples", b.Size(), len(b.Features), err,
				len(expected))
		}
		for i, n := range expected {
			if b.Features[i*Numbers] != n || b.Targets[i] != int64(n)%2 || len(b.Bag(i)) != Categories {
				t.Fatalf("sample %d of %d is %v, want %v", i, len(expected), b.Features[i*Numbers], n)
			}
		}
		at += len(expected)
	}
}

func checkHeldOut(t *rapid.T, l *Log, want []float32) {
	held, err := l.HeldOut()
	if err != nil {
		t.Fatal(err)
	}
	if held == nil {
		held = &sdk.Samples{}
	}
	var got []float32
	for i := range held.Size() {
		got = append(got, held.Features[i*Numbers])
		if held.Targets[i] != int64(got[i])%2 || len(held.Bag(i)) != Categories {
			t.Fatalf("held-out sample %d is %v and %v", i, held.Targets[i], held.Bag(i))
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
}

// The samples do not depend on how the log is stored.
func TestForms(t *testing.T) {
	var text []byte
	for n := range 3000 { // more than one block
		text = append(text, sampleLine(n*n)+"\n"...)
	}
	var want sdk.Batch
	if err := newLog(datafile.InMemory("log", text)).Open().Read(&want, 5000); err != nil || want.Size() != 3000 {
		t.Fatal(want.Size(), err)
	}
	commas := bytes.ReplaceAll(text, []byte("\t"), []byte(","))
	header := []byte("label" + strings.Repeat(",name", columns-1) + "\n")
	half := bytes.LastIndexByte(text[:len(text)/2], '\n') + 1
	for name, files := range map[string][]datafile.File{
		"gzip":         {datafile.InMemory("log", pack(t, text, "gzip"))},
		"zstd":         {datafile.InMemory("log", pack(t, text, "zstd"))},
		"commas":       {datafile.InMemory("log", commas)},
		"header":       {datafile.InMemory("log", append(bytes.Clone(header), commas...))},
		"byte mark":    {datafile.InMemory("log", append([]byte("\uFEFF"), text...))},
		"mark, header": {datafile.InMemory("log", append(append([]byte("\uFEFF"), header...), commas...))},
		"no last end":  {datafile.InMemory("log", text[:len(text)-1])},
		"returns":      {datafile.InMemory("log", bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))},
		"two files":    {datafile.InMemory("a", text[:half]), datafile.InMemory("b", pack(t, text[half:], "gzip"))},
		"members": {datafile.InMemory("log",
			append(pack(t, text[:half], "gzip"), pack(t, text[half:], "gzip")...))},
		"frames": {datafile.InMemory("log",
			append(pack(t, text[:half], "zstd"), pack(t, text[half:], "zstd")...))},
		"commas and tab": {datafile.InMemory("a", text[:half]), datafile.InMemory("b", commas[half:])},
	} {
		t.Run(name, func(t *testing.T) {
			var got sdk.Batch
			if err := newLog(files...).Open().Read(&got, 5000); err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			if !reflect.DeepEqual(want, got) {
				t.Errorf("%s: the %d samples differ", name, got.Size())
			}
		})
	}
}

// Two readers run at once. One learns facts about the log that the other uses.
func TestTwoReaders(t *testing.T) {
	var text []byte
	for n := range 5000 {
		text = append(text, sampleLine(n)+"\n"...)
	}
	l := newLog(datafile.InMemory("log", text))
	l.LogNumbers = false
	var readers sync.WaitGroup
	for first := range 2 {
		readers.Go(func() {
			for range 3 {
				r, b := l.Open(), sdk.Batch{}
				err := r.Skip(first * 7)
				for at := first * 7; err == nil; at += 14 {
					if err = errors.Join(r.Read(&b, 7), r.Skip(7)); err == nil && b.Features[0] != float32(at) {
						err = fmt.Errorf("sample %v was read, want %d", b.Features[0], at)
					}
				}
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
			}
		})
	}
	readers.Wait()
}

func TestReadAllocatesNothing(t *testing.T) {
	text := []byte(strings.Repeat(sampleLine(5)+"\n", 20_000))
	r := newLog(datafile.InMemory("log", text)).Open()
	var b sdk.Batch
	if n := testing.AllocsPerRun(100, func() {
		if err := errors.Join(r.Read(&b, 64), r.Skip(64)); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a batch takes %v allocations", n)
	}
}

func TestOrigin(t *testing.T) {
	text := strings.Repeat("name,", columns-1) + "name\n" + strings.ReplaceAll(sampleLine(0)+"\nx\n"+sampleLine(1)+"\n",
		"\t", ",")
	l := newLog(datafile.InMemory("a", []byte(text)), datafile.InMemory("b", []byte(text)))
	l.MaxMalformed = 2
	r := l.Open()
	if err := r.Read(&sdk.Batch{}, 4); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sample, position int
		want             string
	}{
		{0, -1, "a, line 2, column 1"},
		{1, 0, "a, line 4, category 1"},
		{2, 25, "b, line 2, category 26"},
		{3, 26, "b, line 4, number 1"},
		{3, 38, "b, line 4, number 13"},
	} {
		t.Run(fmt.Sprint(c.sample), func(t *testing.T) {
			if got := r.Origin(c.sample, c.position); got != c.want {
				t.Errorf("position %d of sample %d comes from %s, want %s", c.position, c.sample, got, c.want)
			}
		})
	}
}
