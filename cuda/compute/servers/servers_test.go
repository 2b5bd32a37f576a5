//go:build nvidia

package servers_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/cuda/compute/internal/computetest"
	ondevice "github.com/psbench/psbench/cuda/compute/servers"
	"github.com/psbench/psbench/plugins/servers"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

func TestMain(m *testing.M) { computetest.Main(m) }

var must = computetest.Must

func part(parts []sdk.Part, key string) sdk.Part {
	return parts[slices.IndexFunc(parts, func(p sdk.Part) bool { return p.Key == key })]
}

// The second bucket consists of several pieces, the third is a table.
var buckets = []tensor.BucketSpec{
	{Index: 0, Elements: 77},
	{Index: 1, Elements: 1<<20 + 1000},
	{Index: 2, Sparse: true, TableRows: 40, Width: 3, Elements: 120, Capacity: 20},
}

// draw returns a trainer's gradient of a batch.
func draw(spec tensor.BucketSpec, trainer int, batch int64) *tensor.Gradient {
	g := tensor.NewGradient(spec)
	if spec.Sparse {
		n := (trainer + int(batch)) % 4 // trainer 0 has no rows in batch 0
		g.Rows, g.Values = g.Rows[:n], g.Values[:n*spec.Width]
		for i := range g.Rows {
			g.Rows[i] = int32(i*3 + trainer%2 + int(batch))
		}
	}
	copy(g.Values, computetest.Random(len(g.Values), uint64(trainer)*1000+uint64(batch)))
	return &g
}

func mean(t *testing.T, spec tensor.BucketSpec, pushed []*tensor.Gradient) *tensor.Gradient {
	t.Helper()
	answer := tensor.NewGradient(spec)
	must(t, (&sdk.Exchange{Bucket: spec, Gradients: pushed}).Average(&answer))
	return &answer
}

// Trainers push all buckets of several batches concurrently, each from its own goroutine. Each gets the mean before
// it continues.
func TestMeans(t *testing.T) {
	d := computetest.Open(t)
	for _, key := range []string{"average", "average_batch"} {
		for _, trainers := range []int{1, 3} {
			for _, m := range []memory{neighbours, segments} {
				t.Run(fmt.Sprintf("%s of %d in %s", key, trainers, m),
					func(t *testing.T) { takesMeans(t, d, key, trainers, m.stores(t, trainers)) })
			}
		}
	}
}

// memory is the kind of memory that holds the trainers' buckets.
type memory string

const (
	neighbours memory = "memory of Go" // buckets one after the other, so that they share pages
	segments   memory = "shared memory"
)

// stores returns memory for each bucket of each trainer.
func (m memory) stores(t *testing.T, trainers int) [][]*tensor.Gradient {
	stores := make([][]*tensor.Gradient, trainers)
	whole := make([]float32, 3, 1<<23)
	for trainer := range stores {
		for _, spec := range buckets {
			g := tensor.NewGradient(spec)
			n := cap(g.Values)
			values := whole[len(whole) : len(whole)+n : len(whole)+n]
			whole = whole[:len(whole)+n]
			if m == segments {
				values = computetest.Shared(t, n)
			}
			g.Values = values[:len(g.Values)]
			stores[trainer] = append(stores[trainer], &g)
		}
	}
	return stores
}

// takesMeans makes trainers push from stores, whose memory stays the same.
func takesMeans(t *testing.T, d *device.Device, key string, trainers int, stores [][]*tensor.Gradient) {
	t.Helper()
	recorder := &sdk.Recorder{}
	made, err := part(ondevice.Parts(), key).Build([]byte("{}"),
		sdk.ServerEnv{Name: "server0", Trainers: trainers, Buckets: buckets, Recorder: recorder, Engine: d})
	must(t, err)
	server := made.(sdk.Server)
	server.Reset()
	const batches = 3
	var training sync.WaitGroup
	for trainer := range trainers {
		training.Go(func() {
			for batch := range int64(batches) {
				answered := make(chan int, len(buckets))
				for i, spec := range buckets {
					g := stores[trainer][i]
					if err := g.CopyFrom(draw(spec, trainer, batch)); err != nil {
						t.Error(err)
					}
					p := sdk.NewPush(sdk.Push{Batch: batch, Bucket: i, Trainer: trainer, Gradient: g},
						func(p sdk.Push, answer *tensor.Gradient) error {
							if answer != p.Gradient {
								t.Error("the answer lies elsewhere")
							}
							answered <- p.Bucket
							return nil
						})
					if err := server.Receive(p); err != nil {
						t.Error(err)
						return
					}
				}
				for range buckets {
					i := <-answered
					var pushed []*tensor.Gradient
					for other := range trainers {
						pushed = append(pushed, draw(buckets[i], other, batch))
					}
					want, got := mean(t, buckets[i], pushed), stores[trainer][i]
					if !slices.Equal(got.Rows, want.Rows) {
						t.Errorf("trainer %d, batch %d, bucket %d: rows are %v, want %v", trainer, batch, i, got.Rows,
							want.Rows)
					}
					computetest.Near(t, "the mean", got.Values, want.Values, 1e-6)
				}
			}
		})
	}
	training.Wait()
	measured := map[string]int{}
	for _, s := range recorder.All().Series {
		s.Each(func(m sdk.Measurement) {
			if m.DurationNS >= 0 && m.Key.A < batches && m.Key.B < int64(len(buckets)) {
				measured[s.Name]++
			}
		})
	}
	means, pieces := batches*len(buckets), batches*(len(buckets)+1) // bucket 1 has two pieces
	for name, want := range map[string][2]int{
		"average computation": {means, means}, "device average": {pieces, pieces},
		"device copy in":  {means * trainers, pieces * trainers},
		"device copy out": {pieces * trainers, pieces * trainers},
	} {
		if n := measured[name]; n < want[0] || n > want[1] {
			t.Errorf("%s is measured %d times, want %d to %d", name, n, want[0], want[1])
		}
	}
	must(t, made.(interface{ Close() error }).Close())
}

func TestPushesThatAreWrong(t *testing.T) {
	d := computetest.Open(t)
	env := sdk.ServerEnv{Name: "server0", Trainers: 2, Buckets: buckets, Recorder: &sdk.Recorder{}, Engine: d}
	made, err := part(ondevice.Parts(), "average").Build([]byte("{}"), env)
	must(t, err)
	server := made.(sdk.Server)
	gradient := draw(buckets[0], 1, 4)
	gradient.Values = computetest.Shared(t, len(gradient.Values)) // pinned until the server closes
	push := sdk.NewPush(sdk.Push{Batch: 4, Trainer: 1, Gradient: gradient}, nil)
	must(t, server.Receive(push))
	if err := server.Receive(push); err == nil ||
		err.Error() != "trainer 1 pushed bucket 0 twice, batches 4 and 4, without an answer" {
		t.Errorf("a push that comes twice gives %v", err)
	}
	server.Reset()
	must(t, server.Receive(push))
	must(t, made.(interface{ Close() error }).Close())
	env.Trainers = 65
	if _, err := part(ondevice.Parts(), "average").Build([]byte("{}"), env); err == nil ||
		err.Error() != "server0 has 65 trainers but takes the mean of at most 64 on cuda:0: add servers" {
		t.Errorf("65 trainers give %v", err)
	}
}

// The table answers and steps like the table on the host.
func TestTables(t *testing.T) {
	d := computetest.Open(t)
	recorder := &sdk.Recorder{}
	for _, optimizer := range []string{"sgd", "adam", "adagrad", "rowwise_adagrad"} {
		settings := fmt.Sprintf(`{"num_embeddings": 30, "embedding_dim": 6, "optimizer": %q}`, optimizer)
		build := func(parts []sdk.Part, e engine.Engine) sdk.TableServer {
			made, err := part(parts, "embedding").Build([]byte(settings),
				sdk.TableEnv{Name: "server1", Position: 1, Seed: 5, Recorder: recorder, Engine: e})
			must(t, err)
			return made.(sdk.TableServer)
		}
		host, dev := build(servers.Parts(), engine.Host), build(ondevice.Parts(), d)
		if err := dev.Lookup(call([]int64{0}, []int64{0, 1})); err == nil ||
			err.Error() != "server1 was asked before its table had values" {
			t.Errorf("a lookup before the first pass gives %v", err)
		}
		for range 2 {
			host.Reset()
			dev.Reset()
			recorder.Reset()
			for step, bags := range [][2][]int64{
				{{3, 7, 3, 29}, {0, 2, 2, 4}}, {{0}, {0, 1}}, {{5, 5, 5, 9, 1, 0, 29}, {0, 3, 5, 7}}, {{}, {0, 0}},
				{{}, {0}},
			} {
				want, got := call(bags[0], bags[1]), call(bags[0], bags[1])
				must(t, host.Lookup(want))
				must(t, dev.Lookup(got))
				computetest.Near(t, fmt.Sprintf("%s, lookup %d", optimizer, step), got.Values, want.Values, 1e-5)
				copy(want.Values, computetest.Random(len(want.Values), uint64(step)))
				copy(got.Values, want.Values)
				must(t, host.Update(want))
				must(t, dev.Update(got))
			}
			dev.(sdk.PassDescriber).PassFacts()
			measured(t, recorder, map[string]int64{"device lookup": 4, "device scatter": 5, "device optimizer": 5})
			_, wantTable := host.(sdk.Holder).Held()
			_, gotTable := dev.(sdk.Holder).Held()
			computetest.Near(t, optimizer+", table", computetest.Out(t, d, gotTable[0].Data), wantTable[0].Data, 1e-5)
		}
	}
}

// measured requires these numbers of spans by name.
func measured(t *testing.T, r *sdk.Recorder, want map[string]int64) {
	t.Helper()
	for _, s := range r.All().Series {
		n := int64(0)
		s.Each(func(m sdk.Measurement) {
			if m.Key != (sdk.Key{A: n}) && want[s.Name] > 0 {
				t.Errorf("span %d of %s has key %v", n, s.Name, m.Key)
			}
			n++
		})
		if n != want[s.Name] && want[s.Name] > 0 {
			t.Errorf("%s is measured %d times, want %d", s.Name, n, want[s.Name])
		}
		delete(want, s.Name)
	}
	if len(want) > 0 {
		t.Errorf("nobody measures %v", want)
	}
}

// call returns a call with bags of rows. The call has room for other tables' columns between those of this table.
func call(indices, offsets []int64) *comm.TableCall {
	c := &comm.TableCall{Indices: indices, Offsets: offsets, Stride: 10, Width: 6}
	c.Values = make([]float32, c.Bags()*c.Stride)
	return c
}
