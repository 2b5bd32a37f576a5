package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/sdk"
)

// closingRun is a psbench process whose parts record the calls of Close.
type closingRun struct {
	*faultRun
	notes string
}

// startClosing starts a run in which the given kinds use parts of the test plugin, with the given keys and settings.
func startClosing(t *testing.T, parts map[sdk.Kind]closingPart, args ...string) *closingRun {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	flags := map[sdk.Kind]string{
		sdk.KindTrainer: "trainer", sdk.KindModel: "model", sdk.KindCriterion: "create_criterion",
		sdk.KindHook: "ddp_hook", sdk.KindServer: "server", sdk.KindData: "data",
	}
	r := &closingRun{notes: t.TempDir()}
	set := map[string]any{}
	config := map[string]any{"set": set}
	registry := map[string]any{
		"plugins": map[string]any{"test": map[string]any{"command": []string{exe, testPluginArgument}}},
	}
	for kind, p := range parts {
		p.Notes = r.notes
		config[flags[kind]], set[string(kind)] = p.key, p.closing
		list := string(kind) + "_map"
		if kind == sdk.KindHook {
			list = "ddp_hook_map"
		}
		registry[list] = map[string]any{p.key: map[string]any{"plugin": "test"}}
	}
	dir := t.TempDir()
	for flag, content := range map[string]any{"--registry": registry, "--config": config} {
		file := filepath.Join(dir, flag[2:]+".json")
		text, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, flag, file)
	}
	r.faultRun = startPsbench(t, args...)
	return r
}

// closingPart is a part of the test plugin with its settings.
type closingPart struct {
	key string
	closing
}

// everyKind returns parts of all kinds that can run together.
func everyKind(c closing) map[sdk.Kind]closingPart {
	parts := map[sdk.Kind]closingPart{}
	for _, kind := range []sdk.Kind{sdk.KindTrainer, sdk.KindModel, sdk.KindCriterion, sdk.KindHook, sdk.KindServer,
		sdk.KindData} {
		parts[kind] = closingPart{"closing", c}
	}
	return parts
}

// closed returns one line per process, with the kinds of the closed parts in order. The lines are sorted.
func (r *closingRun) closed() []string {
	r.t.Helper()
	files, err := filepath.Glob(filepath.Join(r.notes, "*"))
	if err != nil {
		r.t.Fatal(err)
	}
	var lines []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			r.t.Fatal(err)
		}
		lines = append(lines, strings.Join(strings.Fields(string(text)), " "))
	}
	slices.Sort(lines)
	return lines
}

func (r *closingRun) requireClosed(want ...string) {
	r.t.Helper()
	slices.Sort(want)
	if d := cmp.Diff(want, r.closed()); d != "" {
		r.t.Errorf("parts are closed otherwise: %s\n%s", d, r.text())
	}
}

// each returns the expected lines of n processes that close the same parts.
func each(n int, parts string) []string { return slices.Repeat([]string{parts}, n) }

// closingWorld are flags that make passes long enough for an interrupt.
var closingWorld = []string{"--ntrainer", "2", "--nserver", "1", "--epochs", passEpochs}

// However a run ends, every part is closed exactly once. A process closes its parts in the reverse order of their
// construction.
func TestPartsAreClosed(t *testing.T) {
	beside := []string{"data", "hook criterion model trainer", "hook criterion model trainer", "server"}
	apart := append([]string{"data", "server"},
		slices.Concat(each(2, "trainer"), each(2, "model"), each(2, "criterion"), each(2, "hook"))...)
	for i, transport := range []string{"shm", "tcp"} {
		for j, c := range []struct {
			name string
			args []string
			want []string
		}{{"beside", nil, beside}, {"apart", []string{"--isolate", "all"}, apart}} {
			if i != j && (testing.Short() || raceDetector) {
				continue
			}
			name, args := c.name, slices.Concat(closingWorld, []string{"--transport", transport}, c.args)
			t.Run(transport+"/"+name+"/at its end", func(t *testing.T) {
				t.Parallel()
				r := startClosing(t, everyKind(closing{Barrier: true}),
					slices.Concat(args, []string{"--epochs", "5"})...)
				if status, last := r.end(); status != 0 {
					t.Errorf("exit status %d: %s", status, last)
				}
				r.requireClosed(c.want...)
			})
			t.Run(transport+"/"+name+"/after an error", func(t *testing.T) {
				t.Parallel()
				r := startClosing(t, everyKind(closing{Breaks: true}), args...)
				r.ended("hook closing, Reduce: it broke")
				r.requireClosed(c.want...)
			})
			t.Run(transport+"/"+name+"/interrupted", func(t *testing.T) {
				t.Parallel()
				r := startClosing(t, everyKind(closing{}), slices.Concat(args, []string{"--warmup", "1"})...)
				r.reach("measured pass")
				r.interrupt()
				r.requireClosed(c.want...)
			})
		}
	}
}

// All other types of servers and data are closed, too. A server of parameters is closed before its model. Data is
// closed after its last reader.
func TestPartsOfEverySortAreClosed(t *testing.T) {
	for name, c := range map[string]struct {
		parts map[sdk.Kind]closingPart
		args  []string
		want  []string
	}{
		"server": {map[sdk.Kind]closingPart{sdk.KindServer: {key: "closing_echo"}}, strings.Fields(small),
			each(1, "server")},
		"table": {
			map[sdk.Kind]closingPart{sdk.KindServer: {key: "closing_table"}},
			[]string{"--trainer", "hybrid", "--nserver", "2"}, each(2, "server"),
		},
		"parameters": {
			map[sdk.Kind]closingPart{sdk.KindServer: {key: "closing_update"}, sdk.KindModel: {key: "closing"}},
			[]string{"--trainer", "batch_update", "--data", "dummy", "--create-criterion", "cel"},
			append(each(2, "model"), "server model"),
		},
		"stream": {
			map[sdk.Kind]closingPart{sdk.KindData: {key: "closing_stream"}},
			[]string{"--model", "dlrm", "--epochs", "1", "--warmup", "5"}, each(1, "data"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := slices.Concat(closingWorld, []string{"--epochs", "2"}, c.args)
			r := startClosing(t, c.parts, args...)
			if status, last := r.end(); status != 0 {
				t.Errorf("exit status %d: %s", status, last)
			}
			r.requireClosed(c.want...)
		})
	}
}

// An error in Close makes the run fail with one sentence. The other parts are closed nevertheless.
func TestCloseThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		kind sdk.Kind
		end  string
		want string
		rest []string
	}{
		"error": {
			sdk.KindModel, "in an error",
			"trainer0: model closing, Close: the disk is full; trainer1: model closing, Close: the disk is full",
			append(each(2, "hook criterion model trainer"), "data", "server"),
		},
		"hang": {
			sdk.KindData, "in a hang", "data closing is not closed after 5 s",
			append(each(2, "hook criterion model trainer"), "data", "server"),
		},
		"panic": {
			sdk.KindServer, "in a panic",
			"ended with exit status 2 during closing; its last words: panic: it fell over, in psbench.closing.Close",
			append(each(2, "hook criterion model trainer"), "data", "server"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := everyKind(closing{})
			p := parts[c.kind]
			p.End = c.end
			parts[c.kind] = p
			file := filepath.Join(t.TempDir(), "result.json")
			r := startClosing(t, parts,
				slices.Concat(closingWorld, []string{"--epochs", "2", "--rpc-timeout", "5", "--json", file})...)
			r.ended(c.want)
			r.requireClosed(c.rest...)
			if res, err := result.Read(file); err != nil || res.Complete || !strings.Contains(res.Error, c.want) {
				t.Errorf("the file holds %+v, error %v", res, err)
			}
		})
	}
}

// If a run fails and a part then cannot be closed, the original error comes first.
func TestCloseThatFailsAfterAFailure(t *testing.T) {
	t.Parallel()
	parts := everyKind(closing{Breaks: true})
	parts[sdk.KindServer] = closingPart{"closing", closing{End: "in an error"}}
	r := startClosing(t, parts, closingWorld...)
	r.ended("hook closing, Reduce: it broke; at the end server2: server closing, Close: the disk is full")
	r.requireClosed(append(each(2, "hook criterion model trainer"), "data", "server")...)
}
