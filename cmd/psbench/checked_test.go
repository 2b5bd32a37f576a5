package main

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/sdk"
)

// slip selects the one element of one combination that a server computes wrongly.
type slip struct {
	Elements    int   `json:"elements" doc:"of the gradients that it errs in"`
	Combination int64 `json:"combination" doc:"of such gradients, from 1; 0: none"`
	Element     int   `json:"element" doc:"that is wrong"`
}

// slipping is a server that sums gradients and makes one mistake.
type slipping struct {
	slip
	combined atomic.Int64
}

func newSlipping(s slip, _ sdk.ServerEnv) (sdk.ElementwiseServer, error) {
	return &slipping{slip: s}, nil
}

func (s *slipping) Combine(sum []float32, others [][]float32) {
	for _, other := range others {
		for i, v := range other {
			sum[i] += v
		}
	}
	if len(sum) == s.Elements && s.combined.Add(1) == s.Combination {
		sum[s.Element] += 1e-3
	}
}

func (s *slipping) Finish([]float32) {}

// echo is a server that returns each gradient to its sender at once.
type echo struct{}

func newEcho(struct{}, sdk.ServerEnv) (sdk.Server, error) { return echo{}, nil }

func (echo) Receive(p sdk.Push) error { return p.Answer(p.Gradient) }
func (echo) Reset()                   {}

// inSlices are the flags of a run whose buckets fit one slice each. Bucket 1 has 256 + 16 elements, and bucket 0 has
// rows of the embedding.
const inSlices = "--quiet --check --warmup none --iterations 20 --batch-size 2 --ntrainer 2 --set data.max_val=16 --set model.sparse=true --set model.num_embeddings=16 --set model.embedding_dim=16 " +
	"--set model.dense_input_size=16 --set model.dense_output_size=16 --set model.dense_layers_count=1 "

// A single wrong element in a server's answer voids the run, and the error names this element.
func TestCheckNamesWhatAServerDidWrong(t *testing.T) {
	for _, transport := range []string{"shm", "unix"} {
		t.Run(transport, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "result.json")
			args := append(withTestPlugin(t),
				strings.Fields(inSlices+"--server slipping --transport "+transport+" --json "+file)...)
			// Each iteration has one combination of bucket 1, so iteration 6 has the 7th.
			args = append(args, "--set", "server.elements=272", "--set", "server.combination=7", "--set",
				"server.element=201")
			status, _, stderr := psbenchMain(t, args...)
			want :=
				regexp.MustCompile(`element 201 of bucket 1 on trainer0 is wrong in iteration 6: push-pull over link server left \S+ instead of \S+`)
			if status != 1 || !want.MatchString(stderr) {
				t.Errorf("over %s: status %d, %s", transport, status, stderr)
			}
			r, err := result.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			if r.Complete || !want.MatchString(r.Error) || len(r.Losses[0]) != 20 {
				t.Errorf("over %s: complete %v, %q, %d losses", transport, r.Complete, r.Error, len(r.Losses[0]))
			}
		})
	}
}

// For every server and group, --check compares each operation of the pass on every rank. Correct payloads pass the
// check.
func TestCheckComparesEveryOperation(t *testing.T) {
	transports := []string{"shm", "tcp"}
	if testing.Short() {
		transports = transports[:1]
	}
	for _, how := range []string{
		"--server slipping", "--server average", "--server average_batch --ddp-hook sparse_rpc",
		"--nserver 0 --ddp-hook allreduce", "--ddp-hook hybrid",
		"--isolate hook", "--server average --nserver 2 --ntrainer 4",
	} {
		for _, transport := range transports {
			t.Run(how+" "+transport, func(t *testing.T) {
				r := runs(t, append(withTestPlugin(t), strings.Fields(inSlices+how+" --transport "+transport)...)...)
				trainers := len(r.Losses)
				if c := r.Checks; c == nil || c.Iterations != 20 || c.Slices != int64(20*2*trainers) ||
					c.Operations != c.Slices || c.Elements < c.Slices {
					t.Errorf("compared %+v", c)
				}
			})
		}
	}
}

// The result lists payloads that nobody can recompute, and does not compare them.
func TestCheckListsWhatIsUnchecked(t *testing.T) {
	for how, want := range map[string]string{
		"--ddp-hook tardy":                             "what hook tardy itself does to a bucket: it is of plugin test",
		"--ddp-hook noop --nserver 0":                  "hook noop: it uses no link",
		"--isolate hook":                               "buckets between a trainer and hook rpc: ",
		"--trainer batch_update --server batch_update": "answers of server batch_update: it answers with parameters",
		"--server echo":                                "answers of server echo: it answers before all",
		"--server slipping":                            "what server slipping makes of gradients: it is of plugin test",
	} {
		t.Run(how, func(t *testing.T) {
			if strings.Contains(how, "batch_update") {
				how = "--quiet --check --iterations 20 " + how
			} else {
				how = inSlices + how
			}
			r := runs(t, append(withTestPlugin(t), strings.Fields(how)...)...)
			if got := listed(r.Checks); !strings.Contains(got, want) {
				t.Errorf("%s: %s is not in %q", how, strconv.Quote(want), got)
			}
		})
	}
}

func listed(c *result.Checks) (text string) {
	if c == nil {
		return "nil"
	}
	for _, u := range c.Unchecked {
		text += u.What + ": " + u.Reason + "\n"
	}
	return text
}
