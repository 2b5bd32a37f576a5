//go:build nvidia

package kernels

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Every kernel of the PTX has a method that launches it. TestMain checks that tests do so.
func TestEveryKernelIsNamed(t *testing.T) {
	var have []string
	for _, file := range ptxFiles() {
		have = append(have, entries(file.text)...)
	}
	slices.Sort(have)
	want := slices.Sorted(slices.Values(names[:]))
	if !slices.Equal(have, want) {
		t.Errorf("the PTX has kernels %v, the package %v", have, want)
	}
}

func TestPTXIsThatOfTheSources(t *testing.T) {
	if _, err := exec.LookPath("clang-14"); err != nil {
		t.Skip("there is no clang-14")
	}
	if _, err := os.Stat("make-ptx"); err != nil {
		t.Skip("the sources are not here")
	}
	dir := t.TempDir()
	if out, err := exec.Command("./make-ptx", dir).CombinedOutput(); err != nil {
		t.Fatalf("make-ptx: %v\n%s", err, out)
	}
	made, err := filepath.Glob(filepath.Join(dir, "*.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	committed := ptxFiles()
	if len(made) != len(committed) {
		t.Fatalf("make-ptx makes %d files but there are %d", len(made), len(committed))
	}
	for _, file := range committed {
		is, err := os.ReadFile(filepath.Join(dir, filepath.Base(file.path)))
		if err != nil {
			t.Fatal(err)
		}
		if string(is) != file.text {
			t.Errorf("make-ptx changes %s: run it and commit what it makes", file.path)
		}
	}
}

func TestErrors(t *testing.T) {
	x := func(n int) []float32 { return make([]float32, n) } // never read
	for _, c := range []struct {
		call func(q *Queue)
		want string
	}{
		{func(q *Queue) { q.Add(x(3), x(4)) }, "Add has 4 elements of src but must have 3"},
		{func(q *Queue) { q.Mean(x(3), nil) }, "Mean has 0 of parts but must have at least 1"},
		{func(q *Queue) { q.Sum(x(3), [][]float32{x(3), x(2)}) }, "Sum has 2 elements of a part but must have 3"},
		{func(q *Queue) { q.AddBias(x(7), x(3)) }, "AddBias has 7 elements of y, which are not whole rows of 3"},
		{func(q *Queue) { q.Softmax(x(7), 0) },
			"Softmax has 7 elements of its first argument, which are not whole rows of 0"},
		{func(q *Queue) { q.SoftmaxGradient(x(6), x(6), x(5), 3) },
			"SoftmaxGradient has 5 elements of another argument but must have 6"},
		{func(q *Queue) { q.CrossEntropy(x(2), nil, x(6), make([]int64, 1), 3) },
			"CrossEntropy has 1 elements of targets but must have 2"},
		{func(q *Queue) { q.NLL(x(1), nil, x(6), make([]int64, 2), 3) },
			"NLL has 1 elements of losses but must have 2"},
		{func(q *Queue) { q.MSE(nil, x(5), x(6), make([]int64, 2), 3) },
			"MSE has 5 elements of gradient but must have 6"},
		{func(q *Queue) { q.GatherBags(x(6), x(6), 3, nil, make([]int64, 2), false) },
			"GatherBags has 2 elements of offsets but must have 3"},
		{func(q *Queue) { q.GatherRows(x(6), x(6), 3, make([]int64, 1)) },
			"GatherRows has 6 elements of rows but must have 3"},
		{func(q *Queue) { q.ScatterRuns(1, x(6), x(6), 3, Runs{Rows: make([]int32, 1)}) },
			"ScatterRuns has 0 elements of runs.Starts but must have 2"},
		{func(q *Queue) { q.AdamRows(x(6), x(3), x(6), x(5), 3, make([]int32, 1), step) },
			"AdamRows has 5 elements of v but must have 6"},
		{func(q *Queue) { q.RowwiseAdagrad(x(6), x(3), x(1), 3, make([]int32, 1), 1, 1) },
			"RowwiseAdagrad has 6 elements of w but must have 3"},
		{func(q *Queue) { q.Gemm(x(6), x(5), x(6), 2, 3, 3, false, false) },
			"Gemm has 5 of a but must have at least 6"},
		{func(q *Queue) {
			q.GemmStrided(Matrix{x(6), 2}, Matrix{x(6), 3}, Matrix{x(9), 3}, 2, 3, 3, false, false)
		}, "Gemm has rows of c that begin 2 elements apart but have 3 elements each"},
		{func(q *Queue) { q.Linear(x(6), x(6), x(9), x(2), 2, 3, 3, true) },
			"Linear has 2 elements of bias but must have 3"},
		{func(q *Queue) { q.CopyColumns(x(6), 3, x(5), 3, 2, 3) }, "CopyColumns has 5 of src but must have at least 6"},
		{func(q *Queue) { q.Interaction(x(9), x(4), x(7), 2, 2, 4) },
			"Interaction has 9 elements of y but must have 10"},
		{func(q *Queue) { q.Total(x(2), 1, x(3)) }, "Total has 2 elements of dst but must have 1"},
		{func(q *Queue) { q.ToFloat16(make([]uint16, 2), x(3)) }, "ToFloat16 has 3 elements of src but must have 2"},
	} {
		b := begin(t)
		c.call(b.Queue)
		c.call(b.Queue)
		b.Fill(x(5), 1)
		if b.Err() == nil || b.Err().Error() != c.want || b.Launches() != 0 {
			t.Errorf("the error is %v after %d launches, want %s", b.Err(), b.Launches(), c.want)
		}
		b.err = nil
		b.end()
	}
}

// A call on a closed queue is an error, and nothing is launched after an error.
func TestQueueCloses(t *testing.T) {
	b := begin(t)
	x := place(b, make([]float32, 4), 0)
	b.must(b.Close())
	b.closed = true
	if b.Fill(x, 1); b.Err() == nil || !strings.Contains(b.Err().Error(), "closed") {
		t.Errorf("a closed queue has the error %v", b.Err())
	}
	b.err = nil
	b.end()
}

// Closing a queue returns only errors of closing, not those of earlier calls.
func TestQueueClosesAfterAnError(t *testing.T) {
	b := begin(t)
	b.AddBias(make([]float32, 7), make([]float32, 3)) // never read
	if b.Err() == nil {
		t.Fatal("there is no error to begin with")
	}
	b.must(b.Close())
	b.closed, b.err = true, nil
	b.end()
}

// Only products that are cut need the workspace. Lanes with other products have none.
func TestWorkspaceComesWithTheFirstProductThatIsCut(t *testing.T) {
	b := begin(t)
	defer b.end()
	const m, k = 64, 512
	x, y, z := place(b, make([]float32, m*k), 0), place(b, make([]float32, m*k), 0), place(b, make([]float32, m*m), 0)
	q := loaded.On(b.stream)
	q.UseBLAS(nil)
	q.Gemm(z, x, y, m, m, 2, false, true)
	q.Gemm(z, x, y, 1, m, k, false, true)
	if q.workspace != 0 {
		t.Error("there is a workspace, which no product needed")
	}
	q.Gemm(z, x, y, m, m, k, false, true)
	if b.must(q.Err()); q.workspace == 0 {
		t.Error("there is no workspace")
	}
	b.must(b.stream.Synchronize())
	b.must(q.Close())
}

func TestNothingAllocates(t *testing.T) {
	b := begin(t)
	defer b.end()
	const n = 64
	x, y, z, w := place(b, make([]float32, n*n), 0), place(b, make([]float32, n*n), 0), place(b, make([]float32, n*n),
		1), place(b, make([]float32, n*n), 0)
	row, losses := x[:n], place(b, make([]float32, n), 0)
	targets, narrow := place(b, make([]int64, n), 0), place(b, make([]uint16, n), 0)
	runs := placeRuns(b, []int64{1, 0, 1}, nil)
	ends := place(b, []int64{0, 1, 2, 3}, 0)
	parts := [][]float32{row, losses}
	for name, call := range map[string]func(){
		"element by element": func() {
			b.Clear(x)
			b.Copy(x, y)
			b.Fill(x, 1)
			b.Axpy(2, y, x)
			b.Mean(row, parts)
			b.ReLUGradient(x, y)
		},
		"optimizers": func() {
			b.Momentum(x, y, z, 0.1, 0.9, 0, true)
			b.Adam(x, y, z, w, step)
			b.AdamRows(x, losses, z, w, n, runs.Rows[:1], step)
			b.RowwiseAdagrad(x, y[:n], losses, n, runs.Rows[:1], 0.1, 1e-8)
		},
		"layers and criteria": func() {
			b.AddBias(x, losses)
			b.ColumnSum(losses, x)
			b.LogSoftmaxGradient(x, y, z, n)
			b.CrossEntropy(losses, y, x, targets, n)
			b.Total(losses[:1], 1, x)
			b.Interaction(y[:2*(8+1)], x[:2*8], z[:2*8], 1, 8, 8)
		},
		"sparse": func() {
			b.GatherBags(y[:3*n], x, n, targets[:3], ends, true)
			b.ScatterBags(x, y[:3*n], n, runs, ends, true, true)
			b.ScatterRuns(1, y[:3*n], x, n, runs)
			b.GatherRows(y[:n], x, n, targets[:1])
		},
		"products": func() {
			b.Gemm(x, y, z, 8, n, n, false, true)
			b.Gemm(x, y, z, n, n, n, true, false)
			b.Linear(x, y, z, losses, n, n, n, true)
		},
		"casts": func() { b.ToFloat16(narrow, row); b.FromBFloat16(row, narrow) },
	} {
		if allocations := testing.AllocsPerRun(3, call); allocations != 0 {
			t.Errorf("%s: %v allocations", name, allocations)
		}
		b.must(b.Err())
		b.must(b.stream.Synchronize())
	}
}

// The sorter's runs equal those of a stable sort.
func TestSorter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOf(rapid.OneOf(rapid.Int64Range(0, 9), rapid.Int64Range(0, 1<<31-1))).Draw(t, "rows")
		var s Sorter
		s.Sort(rows, nil)
		if allocations := testing.AllocsPerRun(1, func() { s.Sort(rows, nil) }); allocations != 0 {
			t.Fatalf("the second time there are %v allocations", allocations)
		}
		if len(s.Starts) != len(s.Rows)+1 || len(s.Order) != len(rows) || !slices.IsSorted(s.Rows) {
			t.Fatalf("%d rows give %+v", len(rows), s.Runs)
		}
		for run, row := range s.Rows {
			if s.Starts[run] >= s.Starts[run+1] || run > 0 && row == s.Rows[run-1] {
				t.Fatalf("run %d is empty or a second one: %+v", run, s.Runs)
			}
			occurrences := s.Order[s.Starts[run]:s.Starts[run+1]]
			for i, o := range occurrences {
				if rows[o] != int64(row) || i > 0 && o <= occurrences[i-1] {
					t.Fatalf("run %d of %v has occurrences %v", run, rows, occurrences)
				}
			}
		}
	})
}
