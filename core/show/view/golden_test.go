package view

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/golden"
)

// Older versions of psbench recorded these results. In sweep.tar.gz a trainer was killed in all runs of one cell and
// in one run of another. The run dlrm was evaluated after each epoch. The folder comm has the rows of psbench comm.
const (
	recordedSweep = "testdata/sweep.tar.gz"
	recordedDLRM  = "testdata/dlrm"
	recordedComm  = "testdata/comm"
)

// fixed makes documents that do not depend on the time.
var fixed = Options{Made: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC), Psbench: "0.0.0 test"}

// The golden documents are also the input of the page's tests.
func TestGolden(t *testing.T) {
	for name, d := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			text, err := d.JSON()
			if err != nil {
				t.Fatal(err)
			}
			var lines bytes.Buffer
			if err := json.Indent(&lines, text, "", " "); err != nil {
				t.Fatal(err)
			}
			golden.Require(t, filepath.Join("testdata", name+".document.json"), lines.String())
		})
	}
}

// recorded returns the documents of the recorded results by name. Tests must not change them.
func recorded(t testing.TB) map[string]*Document {
	t.Helper()
	documents.Do(func() {
		made := map[string]*Document{}
		for name, path := range map[string]string{"sweep": unpacked(t), "dlrm": recordedDLRM, "comm": recordedComm} {
			made[name] = documentOf(t, path)
		}
		documents.of = made
	})
	if documents.of == nil {
		t.Fatal("the recorded documents cannot be made")
	}
	return documents.of
}

var documents struct {
	sync.Once
	of map[string]*Document
}

func documentOf(t testing.TB, path string) *Document {
	t.Helper()
	d, err := Of(loaded(t, path), fixed)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func loaded(t testing.TB, path string) *model.Study {
	t.Helper()
	s, err := model.Load([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// unpacked returns the folder of the recorded sweep.
func unpacked(t testing.TB) string {
	t.Helper()
	f, err := os.Open(recordedSweep)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(dir, "sweep")
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(filepath.Clean(h.Name)))
		if h.FileInfo().IsDir() {
			err = os.MkdirAll(path, 0o700)
		} else if text, rerr := io.ReadAll(files); rerr != nil {
			err = rerr
		} else {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
