//go:build nvidia

package kernels

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/cuda/library"
)

// BenchmarkStepGraph measures the dense layers of one iteration of the default model. BenchmarkStepGraph launches
// them in turn kernel by kernel, like a trainer, and as one graph of the same kernels. First it checks that both
// give the same results. The times are the host's: until all work is launched, and until it is done.
func BenchmarkStepGraph(b *testing.B) {
	width, batches := 1024, []int{10, 128}
	if testing.Short() { // only checks that it works
		width, batches = 128, batches[:1]
	}
	products := []string{Own}
	cublas, err := library.OpenCuBLAS(context)
	if err == nil {
		products = append(products, CuBLAS)
		defer func() {
			if err := cublas.Close(); err != nil {
				b.Error(err)
			}
		}()
	}
	for _, by := range products {
		for _, rows := range batches {
			for _, part := range []struct {
				name string
				work func(i *iteration)
			}{
				{"forward", (*iteration).forward},
				{"backward", (*iteration).backward},
				{"optimizer", (*iteration).optimizer},
				{"all", func(i *iteration) { i.forward(); i.backward(); i.optimizer() }},
			} {
				b.Run(fmt.Sprintf("%s, batch %d, %s", by, rows, part.name), func(b *testing.B) {
					i := newIteration(b, rows, width)
					defer i.end()
					if by == CuBLAS {
						i.UseBLAS(cublas)
					}
					i.compare(b, func() { part.work(i) }, by == CuBLAS)
				})
			}
		}
	}
}

const denseLayers = 7 // dense layers of the default model

// iteration is the work of the default model's dense layers in one iteration: successive linear layers, a softmax,
// cross entropy, and an SGD step.
type iteration struct {
	*bench
	rows, width       int
	memory, fresh     []float32                 // all memory that kernels write, and its initial content
	values, gradients [denseLayers][2][]float32 // weight and bias of each layer
	activations       [denseLayers + 1][]float32
	deltas            [2][]float32 // gradients of two neighbouring activations
	losses            []float32
	targets           []int64
	group             *Group
}

func newIteration(b *testing.B, rows, width int) *iteration {
	i := &iteration{bench: begin(b), rows: rows, width: width}
	parameters, activation := denseLayers*(width*width+width), rows*width
	host := numbers{Rand: rand.New(rand.NewPCG(1, 0))}.floats(2*parameters + (denseLayers+1+len(i.deltas))*activation +
		rows)
	for k := range host {
		host[k] /= float32(math.Sqrt(float64(width)))
	}
	i.memory, i.fresh = place(i.bench, host, 0), place(i.bench, host, 0)
	left := i.memory
	take := func(n int) (taken []float32) {
		taken, left = left[:n], left[n:]
		return taken
	}
	var list []Parameter
	for l := range denseLayers {
		for k, n := range []int{width * width, width} {
			i.values[l][k], i.gradients[l][k] = take(n), take(n)
			list = append(list, Parameter{W: i.values[l][k], G: i.gradients[l][k]})
		}
	}
	for l := range i.activations {
		i.activations[l] = take(activation)
	}
	i.deltas, i.losses = [2][]float32{take(activation), take(activation)}, take(rows)
	i.targets = place(i.bench, numbers{Rand: rand.New(rand.NewPCG(2, 0))}.indices(rows, width), 0)
	i.group = i.NewGroup(list)
	i.must(i.Err())
	return i
}

func (i *iteration) end() {
	i.must(i.stream.Synchronize())
	i.must(i.group.Close())
	i.bench.end()
}

func (i *iteration) forward() {
	for l, values := range i.values {
		i.Linear(i.activations[l+1], i.activations[l], values[0], values[1], i.rows, i.width, i.width, false)
	}
	i.Softmax(i.activations[denseLayers], i.width)
}

func (i *iteration) backward() {
	delta, below := i.deltas[0], i.deltas[1]
	output := i.activations[denseLayers]
	i.CrossEntropy(i.losses, delta, output, i.targets, i.width)
	i.SoftmaxGradient(delta, delta, output, i.width)
	for l := denseLayers - 1; l >= 0; l-- {
		i.ColumnSum(i.gradients[l][1], delta)
		i.Gemm(i.gradients[l][0], delta, i.activations[l], i.width, i.width, i.rows, true, false)
		i.Gemm(below, delta, i.values[l][0], i.rows, i.width, i.width, false, false)
		delta, below = below, delta
	}
}

func (i *iteration) optimizer() { i.SGDGroup(i.group, 0.1, 0) }

// compare times work and a graph of the same work in turn.
func (i *iteration) compare(b *testing.B, work func(), byCuBLAS bool) {
	want := i.outcome(work) // also does everything that only first launches do
	before := i.Launches()
	graph, err := i.captured(work)
	launches := i.Launches() - before
	if err != nil && byCuBLAS {
		b.Logf("cuBLAS is not captured: %v", err)
		return
	}
	i.must(err)
	defer func() { i.must(graph.Destroy()) }()
	replay := func() { i.must(graph.Launch(i.stream)) }
	i.check(b, i.outcome(replay), want, byCuBLAS)
	var one, all timings // times of one launch of the graph, and of launches of all kernels
	for b.Loop() {
		i.time(&all, work)
		i.time(&one, replay)
	}
	b.ReportMetric(0, "ns/op") // would count both kinds together
	b.ReportMetric(float64(launches), "launches")
	all.report(b, "kernels")
	one.report(b, "graph")
}

// outcome returns the memory after running work twice, as in two iterations.
func (i *iteration) outcome(work func()) []float32 {
	i.Copy(i.memory, i.fresh)
	work()
	work()
	return fetched(i.bench, i.memory)
}

// check requires the bits of the kernels' outcome. cuBLAS may differ, because it may choose other kernels in a
// capture.
func (i *iteration) check(b *testing.B, got, want []float32, byCuBLAS bool) {
	if slices.Equal(want, fetched(i.bench, i.fresh)) {
		b.Fatal("the kernels write nothing")
	}
	if byCuBLAS {
		near(b, "memory after the graph", got, want, 1e-3, 1e-4)
		return
	}
	same(b, "memory after the graph", got, want)
}

// captured returns a graph of work without running it.
func (i *iteration) captured(work func()) (*driver.Graph, error) {
	if err := i.stream.BeginCapture(); err != nil {
		return nil, err
	}
	work()
	graph, err := i.stream.EndCapture()
	if err = errors.Join(i.err, err); err == nil {
		err = graph.Instantiate()
	}
	i.err = nil // the error is returned
	if err != nil && graph != nil {
		err = errors.Join(err, graph.Destroy())
	}
	return graph, err
}

// timings are in µs since the first launch: until all work is launched, and until it is done.
type timings struct{ given, done []float64 }

func (i *iteration) time(t *timings, work func()) {
	start := time.Now()
	work()
	given := time.Since(start)
	i.must(i.stream.Synchronize())
	done := time.Since(start)
	i.must(i.Err())
	t.given = append(t.given, given.Seconds()*1e6)
	t.done = append(t.done, done.Seconds()*1e6)
}

func (t *timings) report(b *testing.B, way string) {
	given, lowGiven, highGiven := spread(t.given)
	done, low, high := spread(t.done)
	b.ReportMetric(given, way+"-given-µs")
	b.ReportMetric(done, way+"-µs")
	b.Logf("%s: medians of %d, with the 10th and the 90th in 100: given in %.4g (%.4g..%.4g) µs, done in %.4g (%.4g..%.4g) µs",
		way, len(t.done), given, lowGiven, highGiven, done, low, high)
}
