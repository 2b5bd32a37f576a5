package main

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"github.com/psbench/psbench/plugins/data/generated"
	"github.com/psbench/psbench/plugins/data/internal/datafile"
)

// The built-in samples match the output of this program. Another processor may round sums of products differently,
// so a few values may differ.
func TestSamplesAreGenerated(t *testing.T) {
	images, labels := digits()
	for _, f := range []struct {
		name         string
		packed, want []byte
	}{
		{generated.ClicksName, generated.Clicks, clicks()},
		{generated.DigitImagesName, generated.DigitImages, images},
		{generated.DigitLabelsName, generated.DigitLabels, labels},
	} {
		t.Run(f.name, func(t *testing.T) {
			in, err := datafile.InMemory(f.name, f.packed).Open("auto")
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(in)
			if err != nil {
				t.Fatal(err)
			}
			if err := in.Close(); err != nil {
				t.Fatal(err)
			}
			if runtime.GOARCH == "amd64" && !bytes.Equal(got, f.want) || len(got) == 0 {
				t.Errorf("%s is not what is generated: run go generate in plugins/data/generated", f.name)
			}
		})
	}
}
