package result

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"github.com/psbench/psbench/sdk"
)

// A compressed file is read like an uncompressed one, whatever its name is.
func TestCompressedResult(t *testing.T) {
	want := example()
	plain, packed, renamed := filepath.Join(t.TempDir(), "r.json"), filepath.Join(t.TempDir(),
		"r.json.gz"), filepath.Join(t.TempDir(), "r")
	if err := errors.Join(os.WriteFile(renamed, nil, 0o600), os.Symlink(renamed, packed)); err != nil {
		t.Fatal(err) // the given name counts, not the target of a link
	}
	for _, path := range []string{plain, packed} {
		if err := Write(path, want, still); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(packed)
	if err != nil || !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		t.Fatalf("the compressed file begins with % x, %v", data[:2], err)
	}
	if err := os.WriteFile(renamed, data, 0o600); err != nil {
		t.Fatal(err)
	}
	first, err := Read(plain)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{packed, renamed} {
		if got, err := Read(path); err != nil || !cmp.Equal(got, first) {
			t.Errorf("%s: %v %s", path, err, cmp.Diff(got, first))
		}
	}
	if err := os.WriteFile(renamed, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(renamed); err == nil {
		t.Error("half a file was read")
	}
}

// Few and many measurements are compressed at different levels. Both files are read back unchanged.
func TestLevels(t *testing.T) {
	for n, level := range map[int64]int{100_000: gzip.BestCompression, 100_001: 3} {
		want := example()
		want.Series = []*Series{NewSeries(0, "a", "b")}
		for i := range n {
			want.Series[0].Add(sdk.Measurement{Key: sdk.Key{A: i / 10, B: i % 10}, StartNS: i * 1e6,
				DurationNS: 1000 + i%7})
		}
		if got := (document{want, true}).level(); got != level {
			t.Errorf("%d measurements are compressed at level %d, want %d", n, got, level)
		}
		path := filepath.Join(t.TempDir(), "r.json.gz")
		if err := Write(path, want, still); err != nil {
			t.Fatal(err)
		}
		if got, err := Read(path); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%d measurements do not come back: %v", n, err)
		}
	}
}
