//go:build nvidia

package kernels

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// barrierVariable is the number of the barrier that a child process of the test removes; -1 removes none.
const barrierVariable = "PSBENCH_TEST_WITHOUT_BARRIER"

const barrier = "bar.sync"

// withoutBarrier returns the PTX. If the environment selects a barrier, it removes that barrier.
func withoutBarrier() fs.FS {
	text := os.Getenv(barrierVariable)
	left, err := strconv.Atoi(text)
	if text == "" || err != nil {
		return sources
	}
	changed := fstest.MapFS{}
	for _, file := range ptxFiles() {
		lines := strings.Split(file.text, "\n")
		for i, line := range lines {
			if strings.Contains(line, barrier) {
				if left == 0 {
					lines[i] = ""
				}
				left--
			}
		}
		changed[file.path] = &fstest.MapFile{Data: []byte(strings.Join(lines, "\n"))}
	}
	return changed
}

type ptxFile struct{ path, text string }

func ptxFiles() []ptxFile {
	var files []ptxFile
	entries, _ := sources.ReadDir("ptx") // embedded files are always readable
	for _, e := range entries {
		path := filepath.Join("ptx", e.Name())
		text, _ := sources.ReadFile(path)
		files = append(files, ptxFile{path, string(text)})
	}
	return files
}

// stop is a tester for use outside of tests.
type stop struct{ errors []error }

func (s *stop) Helper()           {}
func (s *stop) Fatal(args ...any) { s.errors = append(s.errors, errors.New(fmt.Sprint(args...))) }
func (s *stop) Fatalf(format string, args ...any) {
	s.errors = append(s.errors, fmt.Errorf(format, args...))
}

// crossBarriers launches each kernel that has a barrier, with shapes that reach all barriers.
func crossBarriers() error {
	s := &stop{}
	b := begin(s)
	const n, rows = 300, 2
	floats := func(n int) []float32 { return place(b, make([]float32, n), 0) }
	x, y, z, losses, targets := floats(n*n), floats(n*n), floats(n*n), floats(n), place(b, make([]int64, rows), 0)
	b.ColumnSum(losses, x)
	b.Total(losses[:1], 1, x[:n])
	b.Softmax(x[:rows*n], n)
	b.LogSoftmax(x[:rows*n], n)
	b.SoftmaxGradient(x[:rows*n], y[:rows*n], z[:rows*n], n)
	b.LogSoftmaxGradient(x[:rows*n], y[:rows*n], z[:rows*n], n)
	b.CrossEntropy(losses[:rows], y[:rows*n], x[:rows*n], targets, n)
	b.MSE(losses[:rows], y[:rows*n], x[:rows*n], targets, n)
	b.CrossEntropyFloats(losses[:rows], y[:rows*n], x[:rows*n], z[:rows*n], n)
	b.MSEFloats(losses[:rows], y[:rows*n], x[:rows*n], z[:rows*n], n)
	b.L1Floats(losses[:rows], y[:rows*n], x[:rows*n], z[:rows*n], n)
	b.L1(losses[:rows], y[:rows*n], x[:rows*n], targets, n)
	b.RowwiseAdagrad(x[:rows*n], y[:rows*n], losses[:rows], n, place(b, []int32{1, 0}, 0), 0.1, 1)
	for _, transA := range []bool{false, true} {
		for _, transB := range []bool{false, true} {
			b.Gemm(x, y, z, 40, 40, 40, transA, transB)
			b.Gemm(x, y, z, 5, 20, n, transA, transB)
		}
	}
	b.end()
	return errors.Join(s.errors...)
}

// The double finds accesses that no barrier orders. On a device, most of them give correct results.
func TestEveryBarrierIsNeeded(t *testing.T) {
	if !strings.HasPrefix(context.Device().Name, "psbench double") {
		t.Skip("only the double finds every race")
	}
	count := 0
	for _, file := range ptxFiles() {
		count += strings.Count(file.text, barrier)
	}
	if count == 0 {
		t.Fatal("the PTX has no barrier")
	}
	for number := -1; number < count; number++ {
		c := exec.Command(os.Args[0], "-test.run=^$") // #nosec G204 -- this test itself
		c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", barrierVariable, number))
		out, err := c.CombinedOutput()
		switch {
		case number < 0 && err != nil:
			t.Fatalf("with all barriers: %v\n%s", err, out)
		case number >= 0 && !strings.Contains(string(out), "conflicting accesses"):
			t.Errorf("without barrier %d nothing is found: %v\n%s", number, err, out)
		}
	}
}
