package model

import (
	"fmt"
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
		r := Measured(i, Config("server", fmt.Sprint(i/10)), make([]int64, 1000))
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
