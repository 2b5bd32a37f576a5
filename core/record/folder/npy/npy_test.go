package npy

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func columnOf(ints ...int64) Column {
	return Column{Name: "c", Count: len(ints), Ints: slices.Values(ints)}
}

func TestHeader(t *testing.T) {
	for _, count := range []int{0, 1, 725, 5_000_000, math.MaxInt64} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			h := header(Float64, count)
			if len(h)%alignBytes != 0 || h[len(h)-1] != '\n' {
				t.Errorf("the header for %d has %d bytes", count, len(h))
			}
		})
	}
	want := "\x93NUMPY\x01\x00\x76\x00{'descr': '<i8', 'fortran_order': False, 'shape': (5,), }"
	if h := string(header(Int64, 5)); strings.TrimRight(h, " \n") != want || len(h) != 128 {
		t.Errorf("%d bytes: %q", len(h), h)
	}
}

// numpy reads exactly the numbers that were written.
func TestNumpyReads(t *testing.T) {
	python := "/usr/bin/python3"
	if exec.Command(python, "-c", "import numpy").Run() != nil {
		t.Skip("numpy is not installed")
	}
	dir := t.TempDir()
	floats := []float64{0, -0.5, math.Inf(1), 1e-300}
	for i, c := range []Column{
		columnOf(0, 1, -1<<61, 1<<61), {Name: "empty", Ints: slices.Values([]int64{})},
		{Name: "f", Count: 4, Floats: slices.Values(floats)},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if _, err := c.Save(dir, func() {}); err != nil {
				t.Fatal(err)
			}
		})
	}
	cmd := exec.Command(python, "-c", `
import sys, numpy as np
for name in ("c", "empty", "f"):
    a = np.load(name + ".npy")
    print(name, a.dtype, a.shape, a.tolist())`)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	want :=
		"c int64 (4,) [0, 1, -2305843009213693952, 2305843009213693952]\nempty int64 (0,) []\nf float64 (4,) [0.0, -0.5, inf, 1e-300]\n"
	if string(out) != want || err != nil {
		t.Errorf("%v %s", err, out)
	}
}

func save(t *testing.T, c Column) (dir string, f File) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, Folder), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := c.Save(filepath.Join(dir, Folder), func() {})
	if err != nil {
		t.Fatal(err)
	}
	return dir, f
}

func TestOpenAndCheck(t *testing.T) {
	const count = 20_000 // more than a buffer holds
	numbers := make([]int64, count)
	for i := range numbers {
		numbers[i] = int64(i * i)
	}
	change := func(from, to string) func([]byte, *File) []byte {
		return func(data []byte, _ *File) []byte { return bytes.Replace(data, []byte(from), []byte(to), 1) }
	}
	of := func(change func(*File)) func([]byte, *File) []byte {
		return func(data []byte, f *File) []byte { change(f); return data }
	}
	for want, change := range map[string]func([]byte, *File) []byte{
		"": func(data []byte, _ *File) []byte { return data },
		"its header says 20000 elements of 8 bytes": func(data []byte, _ *File) []byte {
			return data[:len(data)-8]
		},
		"160001 bytes of elements": func(data []byte, _ *File) []byte {
			return append(data, 0)
		},
		"not a numpy file of format 1.0": change("NUMPY", "NUMPI"),
		"it ends within its header": func(data []byte, _ *File) []byte {
			return data[:100]
		},
		"more than the 4096 of any column":                           change("\x76\x00", "\x76\xff"),
		"its header does not describe a column":                      change("(20000,)", "(2,1000)"),
		"its elements are <i4":                                       change("<i8", "<i4"),
		"it has numbers of type float64, but result.json says int64": change("<i8", "<f8"),
		"its content has changed: its CRC-32 is": func(data []byte, _ *File) []byte {
			data[5000] ^= 1
			return data
		},
		"but result.json says 3": of(func(f *File) { f.Count = 3 }),
		"column c is in ../c.npy, but must be in samples/c.npy": of(func(f *File) {
			f.Path = "../c.npy"
		}),
		"column ../c is in samples/../c.npy": of(func(f *File) {
			f.Name, f.Path = "../c", "samples/../c.npy"
		}),
		"the crc32 of column c is -1234567, but must be 8 hexadecimal digits": of(func(f *File) {
			f.CRC32 = "-1234567"
		}),
		"samples/d.npy: no such file or directory": of(func(f *File) {
			f.Name, f.Path = "d", "samples/d.npy"
		}),
	} {
		t.Run(want, func(t *testing.T) {
			dir, f := save(t, columnOf(numbers...))
			path := filepath.Join(dir, "samples", "c.npy")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, change(data, &f), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := readAll(dir, f)
			switch {
			case want == "" && (err != nil || !slices.Equal(got, numbers)):
				t.Error(err)
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}

func readAll(dir string, f File) ([]int64, error) {
	c, err := Open(dir, []File{f})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	next := c.Ints(f.Name, f.Count)
	if c.Err() != nil {
		return nil, c.Err()
	}
	got := make([]int64, f.Count)
	for i := range got {
		got[i] = next()
	}
	return got, c.Check()
}

// If a column is read as another type, it yields no numbers and an error.
func TestAskedForAsSomethingElse(t *testing.T) {
	dir, f := save(t, columnOf(1, 2))
	for want, ask := range map[string]func(*Columns) bool{
		"there is no column d":                   func(c *Columns) bool { return c.Ints("d", 2)() == 0 },
		"must be of type float64":                func(c *Columns) bool { return c.Floats("c", 2)() == 0 },
		"but the list that they belong to has 3": func(c *Columns) bool { return c.Ints("c", 3)() == 0 },
	} {
		t.Run(want, func(t *testing.T) {
			c, err := Open(dir, []File{f})
			if err != nil {
				t.Fatal(err)
			}
			if !ask(c) || c.Err() == nil || !strings.Contains(c.Err().Error(), want) || c.Check() == nil {
				t.Errorf("%v, want %s", c.Err(), want)
			}
			c.Close()
		})
	}
	c, err := Open(dir, []File{f})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Ints("c", 2)(); c.Check() == nil ||
		!strings.Contains(c.Check().Error(), "1 of its 2 elements belong to no list") {
		t.Error(c.Check())
	}
	if _, err := Open(dir, []File{f, f}); err == nil || !strings.Contains(err.Error(), "column c is named twice") {
		t.Error(err)
	}
}

// Any file is either refused or has as many elements as its header says.
func FuzzReader(f *testing.F) {
	for _, count := range []int{0, 1, 3} {
		f.Add(append(header(Int64, count), make([]byte, 8*count)...))
	}
	f.Add(header(Float64, math.MaxInt64))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		if 8*r.Count > len(data) {
			t.Fatalf("%d elements of %d bytes", r.Count, len(data))
		}
		for range r.Count {
			r.Next()
		}
		if err := r.Check(r.crc); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkSave(b *testing.B) {
	const count = 1_000_000
	dir := b.TempDir()
	b.SetBytes(8 * count)
	for i := range b.N {
		c := Column{Name: fmt.Sprint(i), Count: count, Ints: func(yield func(int64) bool) {
			for x := range int64(count) {
				if !yield(x) {
					return
				}
			}
		}}
		if _, err := c.Save(dir, func() {}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		_ = os.Remove(filepath.Join(dir, c.Name+".npy"))
		b.StartTimer()
	}
}
