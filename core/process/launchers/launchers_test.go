package launchers

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/internal/golden"
)

// want is the name of the file in an archive that contains the expected finding.
const want = "want"

// recorded returns the recorded environments of testdata. Each of them says where it was recorded.
func recorded(t testing.TB) map[string]*txtar.Archive {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 30 {
		t.Fatalf("there are %d environments: %v", len(paths), err)
	}
	archives := map[string]*txtar.Archive{}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		archives[path] = a
	}
	return archives
}

// system builds a System from an archive's variables, host name and files.
func system(a *txtar.Archive) System {
	files := map[string]string{}
	for _, f := range a.Files {
		files[f.Name] = string(f.Data)
	}
	s := System{
		Environ: strings.Split(strings.TrimSpace(files["env"]), "\n"),
		Host:    cmp.Or(strings.TrimSpace(files["host"]), "here"),
		ReadFile: func(path string) ([]byte, error) {
			text, found := files[path]
			if !found {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		},
	}
	if files["hosts.txt"] != "" {
		s.HostsFile = "hosts.txt"
	}
	return s
}

// told formats all fields of a finding.
func told(f *Finding) string {
	var text strings.Builder
	place := func(p Place) string {
		return fmt.Sprintf("rank %d of %s, local rank %d, on %s", p.Rank, p.Tasks(), p.Local, p.Host)
	}
	for _, v := range f.Views {
		if v.Place == nil {
			fmt.Fprintf(&text, "%s: no, %s\n", v.Launcher, v.Why)
			continue
		}
		var names []string
		for _, r := range v.Read {
			names = append(names, r.Name)
		}
		fmt.Fprintf(&text, "%s: %s: %s; by %s\n", v.Launcher, place(*v.Place), v.Why, strings.Join(names, " "))
	}
	if f.Err == nil {
		fmt.Fprintf(&text, "decides: %s: %s: %s\n", f.Launcher, place(f.Place), f.Why)
	}
	if f.Lone != "" {
		fmt.Fprintf(&text, "warning: %s\n", f.Lone)
	}
	if err := f.Refusal(); err != nil {
		fmt.Fprintf(&text, "one process: %s\n", err)
	} else {
		text.WriteString("one process: runs\n")
	}
	return text.String()
}

// Each recorded environment gives the finding that its archive expects.
func TestEnvironments(t *testing.T) {
	for path, a := range recorded(t) {
		a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == want })
		said := told(Look(system(a)))
		a.Files = append(a.Files, txtar.File{Name: want, Data: []byte(said)})
		golden.Require(t, path, string(txtar.Format(a)))
	}
}

// The order of variables does not matter, and unrelated variables change nothing.
func TestOnlyKnownVariablesCount(t *testing.T) {
	archives := recorded(t)
	names := slices.Sorted(maps.Keys(archives))
	rapid.Check(t, func(t *rapid.T) {
		s := system(archives[rapid.SampledFrom(names).Draw(t, "environment")])
		before := told(Look(s))
		others := rapid.SliceOfN(rapid.StringMatching(`[A-Z_]{3,12}_X[0-9]?=[ -~]{0,20}`), 0, 5).Draw(t, "others")
		s.Environ = rapid.Permutation(append(slices.Clone(s.Environ), others...)).Draw(t, "environ")
		if diff := gocmp.Diff(before, told(Look(s))); diff != "" {
			t.Error(diff)
		}
	})
}

// If some variables of a task among several are missing, the task never runs alone while a variable that marks it as a
// task remains.
func TestPartsOfEnvironments(t *testing.T) {
	archives := recorded(t)
	// These variables mark a task. A launcher is recognised only if one of its marks is set.
	marks := []string{"SLURM_STEP_ID", "SLURM_JOB_ID", "SLURM_JOBID", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
		"PRTE_LAUNCHED", "PMI_SIZE", "PMI_RANK", "PMI_FD",
		"TORCHELASTIC_RUN_ID", "LWS_LEADER_ADDRESS", option.TasksVariable}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"srun", "srun_pmi2", "sbatch_step", "mpirun", "mpirun5", "hydra", "torchrun",
			"leaderworkerset", "torchrun_slurm", "job_tasks", "jobset"}).Draw(t, "environment")
		s := system(archives["testdata/"+name+".txtar"])
		var kept []string
		for _, pair := range s.Environ {
			if variable, _, _ := strings.Cut(pair, "="); slices.Contains(marks, variable) ||
				rapid.Bool().Draw(t, variable) {
				kept = append(kept, pair)
			}
		}
		s.Environ = kept
		if f := Look(s); f.Refusal() == nil {
			t.Errorf("runs alone:\n%s", told(f))
		}
	})
}

// For any values of variables, the result is a place or an error.
func FuzzValues(f *testing.F) {
	for _, a := range recorded(f) {
		f.Add(strings.Join(system(a).Environ, "\n"),
			"127.0.0.1 localhost\n10.1.2.3 here.sub.default.svc.cluster.local here\n")
	}
	f.Fuzz(func(t *testing.T, environ, hosts string) {
		s := System{Environ: strings.Split(environ, "\n"), Host: "here",
			ReadFile: func(string) ([]byte, error) { return []byte(hosts), nil }}
		found := Look(s)
		p := found.Place
		if found.Err == nil && (p.Rank < 0 || p.Size < 0 || p.Size > 0 && p.Rank >= p.Size || p.Local < -1) {
			t.Errorf("%+v is no place", p)
		}
		_ = told(found)
	})
}
