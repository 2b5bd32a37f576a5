package study

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/record/result"
)

// BenchmarkLoad reads 400 run folders of 1000 iterations each.
func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	paths := make([]string, 400)
	for i := range paths {
		r := measured(i, config("server", fmt.Sprint(i/10)), make([]int64, 1000))
		r.Schema = result.Schema
		paths[i] = filepath.Join(dir, fmt.Sprint(i))
		f, err := folder.Create(paths[i])
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Write(r); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		s, err := Load(paths)
		if err != nil || len(s.Cells) != 40 {
			b.Fatal(s, err)
		}
	}
}

// BenchmarkText shows 1000 cells of 10 runs each.
func BenchmarkText(b *testing.B) {
	var values []string
	for i := range 250 {
		values = append(values, fmt.Sprint(i))
	}
	s := made([]Axis{{"ntrainer", values}, {"server", []string{"a", "b", "c", "d"}}}, func(v []string) plot {
		return plot{throughput: 1000 + float64(len(v[0])*100+int(v[1][0])), noise: 0.01, loss: 0.3, runs: 10, iterations: 100}
	})
	for b.Loop() {
		if err := s.Text(io.Discard, TextOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
