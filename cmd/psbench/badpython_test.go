//go:build !race

package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pythonHarm describes one misbehaviour of a Python part, and the expected end of psbench.
type pythonHarm struct {
	kind string // the part's kind as a flag name
	does string // the part's setting
	with string // argument of the script
	args string
	want string // expected error, in which ... matches anything; "" if the run succeeds
	logs string // expected text in the log of one of the part's processes
	warn string // expected warning of a successful run, in the same form
}

const ofBad = "...hook is hook bad of plugin bad"

var pythonHarms = map[string]pythonHarm{
	"prints before its handshake": {kind: "ddp-hook", with: "printing", args: "--plugin-output quiet",
		logs: "loading the library\nthe banner of a child\nno end of line\n"},
	"ends before its handshake": {kind: "ddp-hook", with: "leaving",
		want: "ended with exit status 1 during its start; its last words: no more"},
	"raises when it is made": {kind: "ddp-hook", does: "setup", want: "RuntimeError: no more of setup" + ofBad,
		logs: "Traceback (most recent call last):"},
	"raises at a reset": {kind: "ddp-hook", does: "reset", want: "RuntimeError: no more of reset" + ofBad,
		logs: "in reset"},
	"raises in batch 3": {kind: "ddp-hook", does: "reduce",
		want: "batch 3: ...hook: hook bad, reduce: RuntimeError: no more of reduce" + ofBad +
			", which raised that in does (bad.py:...), reduce (bad.py:...)", logs: "    raise RuntimeError"},
	"raises when it is closed": {kind: "ddp-hook", does: "close", want: "RuntimeError: no more of close" + ofBad,
		logs: "in close"},
	"exits": {kind: "ddp-hook", does: "exits",
		want: "hook (process ...) ended with exit status 3 during ..." + ofBad},
	"hangs": {kind: "ddp-hook", does: "hangs", args: "--rpc-timeout 3",
		want: "waited ...hook" + ofBad},
	"leaves threads": {kind: "ddp-hook", does: "threads",
		warn: "is hook bad of plugin bad, and leaves running after its Close or the end of its pass: 3 threads"},
	"leaves a process": {kind: "ddp-hook", does: "forks"},
	"goes on twice":    {kind: "ddp-hook", does: "forked"},
	"prints": {kind: "ddp-hook", does: "prints", args: "--plugin-output quiet",
		logs: "0|0|unix|/nowhere|grpc"},
	"grows": {kind: "ddp-hook", does: "grows", args: "--plugin-memory 512MiB",
		want: "because it needs more than the 512MiB of --plugin-memory; ..." + ofBad},
	"answers with a tensor": {kind: "ddp-hook", does: "answers",
		want: "batch 3: ...hook: hook bad, reduce: TypeError: ..." + ofBad},
	"keeps a tensor": {kind: "ddp-hook", does: "keeps"},
	"combines another shape": {kind: "server", does: "shape",
		want: "ValueError: combine returns ...; server2.part is server bad of plugin bad"},
	"combines words": {kind: "server", does: "dtype",
		want: "ValueError: combine returns a list...; server2.part is server bad of plugin bad"},
	"computes another shape": {kind: "model", does: "shape", want: "model bad...model is model bad of plugin bad"},
	"computes another type":  {kind: "model", does: "dtype", want: "model bad...model is model bad of plugin bad"},
	"emits twice":            {kind: "model", does: "twice", want: "model bad...model is model bad of plugin bad"},
}

// Whatever a Python plugin does, the run ends in time with one sentence. The sentence names plugin, kind and key, and
// has the last line of the traceback. The log has the whole traceback. No process and no file remains.
func TestBadPythonDoesNoHarm(t *testing.T) {
	python, err := findPython()
	if err != nil {
		t.Skip(err)
	}
	script, err := filepath.Abs("testdata/badpython/bad.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(pythonHarms)) {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			pythonHarms[name].run(t, []string{python, script})
		})
	}
}

func (h pythonHarm) run(t *testing.T, command []string) {
	if h.with != "" {
		command = append(command, h.with)
	}
	entry := map[string]any{"bad": map[string]any{"plugin": "bad"}}
	text, err := json.Marshal(map[string]any{
		"plugins":      map[string]any{"bad": map[string]any{"command": command}},
		"ddp_hook_map": entry, "server_map": entry, "model_map": entry,
	})
	if err != nil {
		t.Fatal(err)
	}
	logs := filepath.Join(t.TempDir(), "logs")
	args := []string{"--registry", inFile(t, text), "--" + h.kind, "bad", "--iterations", "10", "--warmup", "none",
		"--log-dir", logs}
	if h.kind == "ddp-hook" {
		args = append(args, "--nserver", "0")
	}
	if h.kind != "model" {
		args = append(args, strings.Fields(small)...)
	}
	if h.does != "" {
		args = append(args, "--set", strings.TrimPrefix(h.kind, "ddp-")+".harm="+h.does)
	}
	f := startPsbench(t, append(args, strings.Fields(h.args)...)...)
	if h.want != "" {
		f.ended()
		requireLike(t, f.lines[len(f.lines)-1], h.want)
	} else {
		if status, last := f.end(); status != 0 {
			t.Errorf("exit status %d, %s", status, last)
		}
		requireLike(t, strings.Join(strings.Fields(f.stdout.String()), " "), h.warn)
		f.leavesNothing()
	}
	files, err := filepath.Glob(filepath.Join(logs, "*"))
	said := ""
	for _, file := range files {
		words, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		said += string(words)
	}
	if err != nil || !strings.Contains(said, h.logs) {
		t.Errorf("the logs lack %q: %v\n%s", h.logs, err, said)
	}
}
