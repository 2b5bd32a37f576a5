package run

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gproto "google.golang.org/protobuf/proto"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/convert"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// planned returns a plan with a dense and a sparse bucket, for data with this many classes.
func planned(rows, classes int) plan {
	return plan{
		buckets: []tensor.BucketSpec{{Elements: 4}, {Sparse: true, TableRows: rows, Width: 2, Elements: 2 * rows}},
		inputs:  &sdk.InputSpec{Classes: classes},
	}
}

func withPlans(r *run, plans ...plan) *run {
	laidOut(r).result = newResult(r.e, Options{})
	for i, s := range r.processes.trainers {
		s.plan = plans[i%len(plans)]
	}
	return r
}

// The capacity of a sparse bucket is the largest number of rows that connected trainers can touch together. The largest
// set of connected trainers decides.
func TestSizeOfSparseBuckets(t *testing.T) {
	shares := []batches.Share{{DistinctRows: 10}, {DistinctRows: 20}, {DistinctRows: 5}, {DistinctRows: 7}}
	for name, c := range map[string]struct {
		links registry.Links
		rows  int
		want  int
	}{
		"all trainers":    {registry.Links{Group: true}, 100, 42},
		"by server":       {registry.Links{Server: true}, 100, 30},
		"alone":           {registry.Links{}, 100, 20},
		"the whole table": {registry.Links{Group: true}, 16, 16},
	} {
		r := withPlans(&run{e: experiment(4, 2, c.links), shares: shares}, planned(c.rows, 1))
		r.size(nil)
		if b := r.result.Buckets; b[0].Capacity != 0 || b[1].Capacity != c.want {
			t.Errorf("%s: the capacities are %d and %d, want 0 and %d", name, b[0].Capacity, b[1].Capacity, c.want)
		}
		if r.lookup != nil {
			t.Errorf("%s: there is a lookup without tables", name)
		}
	}
}

// A lookup has room for the largest batch of any trainer.
func TestSizeOfLookups(t *testing.T) {
	shares := []batches.Share{{BatchSamples: 3, BatchIndices: 40}, {BatchSamples: 5, BatchIndices: 20}}
	r := withPlans(&run{e: experiment(2, 2, registry.Links{Group: true}), shares: shares}, planned(1, 1))
	r.size([]comm.TableSpec{{Rows: 7, Width: 2}, {Rows: 9, Width: 4}})
	if l := r.lookup; l.Bags != 5 || l.Indices != 40 || len(l.Tables) != 2 {
		t.Errorf("the lookup is %v", l)
	}
}

// If there are several tables, every index is a bag of its own.
func TestSizeOfLookupsInSeveralTables(t *testing.T) {
	plan := planned(1, 1)
	plan.inputs.Tables = []int{3, 4}
	r := withPlans(&run{e: experiment(2, 2, registry.Links{Group: true}),
		shares: []batches.Share{{BatchSamples: 3, BatchIndices: 6}, {BatchSamples: 5, BatchIndices: 10}}}, plan)
	r.size([]comm.TableSpec{{Rows: 7, Width: 2}})
	if r.lookup.Bags != 10 || r.lookup.Indices != 10 {
		t.Errorf("a lookup has room for %d bags with %d indices, want 10 with 10", r.lookup.Bags, r.lookup.Indices)
	}
}

// Only a trainer learns what the data process sends to it.
func TestTrainersKnowTheirShares(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		r := laidOut(&run{e: experiment(2, 1, registry.Links{Server: true}, sdk.KindModel), streamed: streamed})
		for _, s := range r.processes.all {
			var want *proto.Share
			if s.kind == sdk.KindTrainer {
				want = convert.ShareToProto(r.shares[s.rank])
			}
			q := r.connectRequest(s).GetTrainer()
			if !gproto.Equal(q.GetShare(), want) || q.GetStreamed() != (streamed && want != nil) {
				t.Errorf("%s is told of share %v, streamed %v", s.Name, q.GetShare(), q.GetStreamed())
			}
		}
	}
}

func TestAgreeOnPlan(t *testing.T) {
	for name, c := range map[string]struct {
		plans []plan
		want  string
	}{
		"equal": {[]plan{planned(3, 2), planned(3, 2)}, ""},
		"buckets": {[]plan{planned(3, 2), planned(4, 2)},
			"trainer0 and trainer1 plan different buckets: the plan must depend on the model alone"},
		"inputs": {[]plan{planned(3, 2), planned(3, 1)},
			"trainer0 and trainer1 take different data: the plan must depend on the model and the tables alone"},
		"nothing": {[]plan{planned(3, 2), {}}, "trainer1 does not say what data it takes: its plan has no inputs"},
	} {
		got := ""
		if err := withPlans(&run{e: experiment(2, 0, registry.Links{})}, c.plans...).agreeOnPlan(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestTables(t *testing.T) {
	r := withPlans(tables(&run{e: experiment(1, 2, registry.Links{})}), planned(1, 1))
	r.processes.servers[0].table = &comm.TableSpec{Rows: 7, Width: 2}
	const want = "server2 has no table, though builtin says that server a_server serves tables"
	if _, err := r.tables(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	r.result.Tables = nil
	r.processes.servers[1].table = &comm.TableSpec{Rows: 9, Width: 4}
	if _, err := r.tables(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]comm.TableSpec{{Rows: 7, Width: 2}, {Rows: 9, Width: 4}}, r.result.Tables); diff != "" {
		t.Error(diff)
	}
}

// A trainer's request names the server. The requests about a model give its first tensor, and a server's request gives
// its role.
func TestConfigureRequests(t *testing.T) {
	for service, firstTensor := range map[sdk.Service]int32{sdk.ServiceGradients: 0, sdk.ServiceTables: 3,
		sdk.ServiceParameters: 0} {
		r := laidOut(&run{e: experiment(3, 3, registry.Links{}, sdk.KindModel)})
		r.e.Service = service
		for _, s := range r.processes.all {
			q := r.configureRequest(s)
			var env *proto.ModelEnv
			switch s.kind {
			case sdk.KindTrainer:
				env = q.GetTrainer().GetModel()
				if server := q.GetTrainer().GetServer(); server != "a_server" {
					t.Errorf("%s, %s: the server is %s", service, s.Name, server)
				}
			case sdk.KindModel:
				env = q.GetCompanion().GetModel()
			case sdk.KindServer:
				checkServerRole(t, service, s, q)
				continue
			default:
				continue
			}
			if env == nil || env.GetFirstTensor() != firstTensor {
				t.Errorf("%s, %s: the model knows %v, want first tensor %d", service, s.Name, env, firstTensor)
			}
		}
	}
}

// checkServerRole checks the role of a server in a run with this service.
func checkServerRole(t *testing.T, service sdk.Service, s *process, q *proto.ConfigureRequest) {
	t.Helper()
	if table := q.GetTable(); (table != nil) != (service == sdk.ServiceTables) ||
		table != nil && int(table.GetPosition()) != s.rank-3 {
		t.Errorf("%s, %s: its table is %v", service, s.Name, table)
	}
	want := ""
	if service == sdk.ServiceParameters {
		want = "a_model"
	}
	if got := q.GetServer().GetModel().GetKey(); got != want {
		t.Errorf("%s, %s: holds %q, want %q", service, s.Name, got, want)
	}
}

// A server of tables gets its share of the cores for Go. Other servers get no fixed number of Go threads.
func TestEnvironment(t *testing.T) {
	for _, name := range []string{"OPENBLAS_NUM_THREADS", "GOMAXPROCS"} {
		t.Setenv(name, "") // also restores the old value after the test
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	count := func(r *run, p *process, name string) int {
		for _, v := range r.environment(p) {
			if n, ok := strings.CutPrefix(v, name+"="); ok {
				count, err := strconv.Atoi(n)
				if err != nil {
					t.Error(err)
				}
				return count
			}
		}
		return 0
	}
	for service, want := range map[sdk.Service]struct{ goTrainer, goServer, blasServer int }{
		sdk.ServiceGradients: {goTrainer: 5}, sdk.ServiceTables: {goTrainer: 4, goServer: 1},
		sdk.ServiceParameters: {goTrainer: 4, blasServer: 4},
	} {
		r := laidOut(&run{e: experiment(2, 64, registry.Links{})})
		r.e.Service = service
		for _, p := range r.processes.all {
			p.Process = placed{site: cluster.Site{Host: cluster.CoreHost, Cores: 8}}
		}
		trainer, server := r.processes.trainers[0], r.processes.servers[0]
		got := want
		got.goTrainer, got.goServer, got.blasServer = count(r, trainer, "GOMAXPROCS"), count(r, server,
			"GOMAXPROCS"), count(r, server, "OPENBLAS_NUM_THREADS")
		if got != want {
			t.Errorf("%s: the threads are %+v, want %+v", service, got, want)
		}
		if n := count(r, trainer, "OPENBLAS_NUM_THREADS"); n != 4 {
			t.Errorf("%s: a trainer's library has %d threads", service, n)
		}
		if n := count(r, r.processes.data, "GOMAXPROCS"); n != 0 {
			t.Errorf("%s: the data process has %d threads", service, n)
		}
		// A trainer that is alone on its host gets all cores of the host.
		trainer.Process = placed{site: cluster.Site{Host: "node7", Cores: 16}}
		if n := count(r, trainer, "OPENBLAS_NUM_THREADS"); n != 16 ||
			r.configureRequest(trainer).GetTrainer().GetModel().GetThreads() != 16 {
			t.Errorf("%s: a trainer alone has %d threads", service, n)
		}
		for _, v := range r.environment(trainer) {
			if strings.HasPrefix(v, "OPENBLAS_CORETYPE") {
				t.Errorf("%s: the kernels of another host are %s", service, v)
			}
		}
	}
}
