//go:build !race

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/sdk"
)

// badPlugin builds the plugin that violates the contract.
func badPlugin(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "bad")
	// Without symbols the linker takes half the time.
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program,
		"./testdata/bad").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// badRegistry returns the path of a registry file with one part of the plugin.
func badRegistry(t *testing.T, plugin map[string]any, kind sdk.Kind, key string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"plugins":             map[string]any{"bad": plugin},
		flagOf(kind) + "_map": map[string]any{key: map[string]any{"plugin": "bad"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return inFile(t, text)
}

// harm describes one misbehaviour of the plugin, and the expected end of psbench.
type harm struct {
	begins string // what the plugin does before its handshake, with a harmless server; "" for nothing
	kind   sdk.Kind
	key    string // the part that misbehaves
	args   string
	does   string // "interrupted" to interrupt the run; "" otherwise
	want   string // expected error, in which ... matches anything; "" if the run succeeds
	warns  string // expected warning of a successful run, in the same form
}

const (
	unasked = "plugin bad, of server early, cannot be asked for its parts: "
	of      = "; server2 is server "
)

// harms lists all kinds of misbehaviour.
var harms = map[string]harm{
	"prints before the handshake": {begins: "prints",
		want: "had pushed it, which a server must declare (sdk.Asynchronous)" + of},
	"hangs in the handshake": {begins: "hangs", args: "--rpc-timeout 1",
		want: unasked + "it did not answer within 1s, the limit of --rpc-timeout"},
	"answers no call": {begins: "mute", args: "--rpc-timeout 1",
		want: unasked + "it did not answer within 1s, the limit of --rpc-timeout"},
	"speaks version 0.1": {begins: "1",
		want: unasked +
			"plugin bad did not start: it speaks version 0.1 of psbench's contract with plugins, this psbench 2.6: build"},
	"speaks version 2.7": {begins: "2007",
		want: unasked +
			"plugin bad did not start: it speaks version 2.7 of psbench's contract with plugins, this psbench 2.6: update"},
	"speaks version 3.0": {begins: "3000",
		want: unasked +
			"plugin bad did not start: it speaks version 3.0 of psbench's contract with plugins, this psbench 2.6: update"},
	"grows before the handshake": {begins: "grows", args: "--plugin-memory 256MiB",
		want: unasked +
			"plugin bad (process ...) ...during its start, because it needs more than the 256MiB of --plugin-memory; its last words: "},
	"replaces its executable": {begins: "replaces",
		want: "bad does not have the sha256 ...; server2 is server early of plugin bad"},

	"panics when it is made": {kind: sdk.KindServer, key: "made",
		want: "server2 (process ...) ended with exit status 2 during connection; its last words: panic: no more..., in main.newServer (parts.go:...)...; server2 is server made of plugin bad"},
	"panics in batch 7": {kind: sdk.KindServer, key: "panics",
		want: "server2 (process ...) ended with exit status 2 during ...; its last words: panic: no more..., in main.(*server).Receive (parts.go:...)...; server2 is server panics of plugin bad"},
	"panics when it is closed": {kind: sdk.KindServer, key: "closed",
		want: "server2 (process ...) ended with exit status 2 during closing; its last words: panic: no more..., in main.(*server).Close (parts.go:...)...; server2 is server closed of plugin bad"},
	"hangs when it is made": {kind: sdk.KindServer, key: "hangs", args: "--rpc-timeout 2",
		want: "server2: server hangs is not made after 2 s; server2 is server hangs of plugin bad"},

	"floods": {kind: sdk.KindData, key: "floods", args: "--plugin-output quiet",
		warns: "warning: data is data floods of plugin bad, and leaves running ..."},
	"leaves processes": {kind: sdk.KindData, key: "leaves", args: "--transport grpc"}, // psbench owns the goroutines
	"leaks by a library": {kind: sdk.KindData, key: "serves", args: "--transport grpc",
		warns: "warning: data is data serves of plugin bad, and leaves running after its Close or the end of its pass: 1 goroutine in httptest.(*Server).goServe.func1 (server.go:...), started by httptest.(*Server).goServe (server.go:...)"},
	"leaks in pushes": {kind: sdk.KindServer, key: "serves",
		warns: "warning: server2 is server serves of plugin bad, and leaves running after its Close or the end of its pass: ... goroutines in httptest.(*Server).goServe.func1 (server.go:...), started by httptest.(*Server).goServe (server.go:...)"},
	"leaks goroutines": {kind: sdk.KindData, key: "leaks",
		warns: "warning: data is data leaks of plugin bad, and leaves running after its Close or the end of its pass: 10000 goroutines in main.data.Load.func1 (parts.go:...), started by main.data.Load (parts.go:...)"},
	"grows": {kind: sdk.KindData, key: "grows", args: "--plugin-memory 256MiB",
		want: "data (process ...) ... during set-up, because it needs more than the 256MiB of --plugin-memory; its last words: ...; data is data grows of plugin bad"},
	"a row too far": {kind: sdk.KindData, key: "rows", want: "data is data rows of plugin bad"},

	"a wrong output": {kind: sdk.KindModel, key: "shape",
		want: ".model: model shape answered a batch of ...; trainer...model is model shape of plugin bad"},
	"a row of no table": {kind: sdk.KindModel, key: "rows",
		want: ".model: model rows emitted a gradient of parameter table with row 100 at place 0...; trainer...model is model rows of plugin bad"},
	"answers twice": {kind: sdk.KindServer, key: "twice",
		want: "server2: server twice answered batch 7, bucket 0 of trainer0 twice; server2 is server twice of plugin bad"},
	"answers after all": {kind: sdk.KindServer, key: "reset",
		want: "server2: server reset answered batch 9, bucket 0 of trainer0 once more, after the pass of that push was over" + of},
	"answers a late one": {kind: sdk.KindServer, key: "kept",
		want: "server2: server kept answered batch 7, bucket 0 of trainer0 once more, while batch 8 is in flight" + of},
	"answers early": {kind: sdk.KindServer, key: "early",
		want: "had pushed it, which a server must declare (sdk.Asynchronous)" + of},
	"answers nothing": {kind: sdk.KindServer, key: "empty", want: "server2 cannot answer trainer0: ..." + of},
	"too many rows":   {kind: sdk.KindServer, key: "rows", want: "server2 cannot answer trainer0: ..." + of},
	"a forged push": {kind: sdk.KindServer, key: "forged",
		want: "server2: server forged answered batch 7..." + of},
	"never answers": {kind: sdk.KindServer, key: "never", args: "--rpc-timeout 5",
		want: "trainer0 waited 5 s for the answer to batch 7, bucket 0 from server2; server2 is server never of plugin bad, which said last: batch 7"},
	"stays in a call": {kind: sdk.KindServer, key: "stays", args: "--rpc-timeout 5 --isolate hook --transport shm",
		want: "from server2; ...; server2 is server stays of plugin bad, which said last: batch 7"},

	"forgets an operation": {kind: sdk.KindHook, key: "forgets", args: "--nserver 0 --trainer ddp",
		want: "hook forgets, Reduce: it started the operation average of batch 0, bucket 0 on link group, and nobody waited for it: Reduce must return its future, or one that waits for it; trainer... is hook forgets of plugin bad"},

	"ignores the end of its pass": {kind: sdk.KindTrainer, key: "deaf", args: "--rpc-timeout 2",
		want: "trainer... has not ended its pass 2 s after it was over; ... is trainer deaf of plugin bad, which said last: training"},
	"stands still alone": {kind: sdk.KindTrainer, key: "stuck",
		args: "--ntrainer 1 --nserver 0 --rpc-timeout 1",
		want: "the core waited 2 s for the end of an iteration from trainer0; trainer0 is trainer stuck of plugin bad, which said last: training"},
	"ignores an interrupt": {kind: sdk.KindTrainer, key: "deaf", args: "--iterations 1000000",
		does: "interrupted", want: "interrupted"},
}

// Whatever a plugin does, the run ends in time with one sentence, which names plugin, kind and key. No process and no
// file remains.
func TestBadPluginsDoNoHarm(t *testing.T) {
	program := badPlugin(t)
	transports := []string{"shm", "unix", "tcp", "grpc"}
	for i, name := range slices.Sorted(maps.Keys(harms)) {
		for j, transport := range transports {
			// The transport matters only to servers that misbehave during a pass.
			answers := harms[name].kind == sdk.KindServer && harms[name].args == ""
			if answers && leftOut(j, i%len(transports), len(transports)) || !answers && j != i%len(transports) {
				continue
			}
			t.Run(strings.ReplaceAll(name, " ", "-")+"/"+transport, func(t *testing.T) {
				t.Parallel()
				harms[name].run(t, program, transport)
			})
		}
	}
}

// flagOf returns the name that selects a part of a kind, both as a flag and in a registry.
func flagOf(kind sdk.Kind) string {
	if kind == sdk.KindHook {
		return "ddp_hook"
	}
	return string(kind)
}

func (h harm) run(t *testing.T, program, transport string) {
	// A separate hard link, so the plugin may replace its own file.
	own := filepath.Join(t.TempDir(), "bad")
	if err := os.Link(program, own); err != nil {
		t.Fatal(err)
	}
	plugin := map[string]any{"command": []string{own}}
	kind, key := h.kind, h.key
	if h.begins != "" {
		kind, key = sdk.KindServer, "early"
		plugin["command"] = []string{own, h.begins}
	}
	if h.begins == "replaces" {
		plugin["sha256"] = sumOfFile(t, own)
	}
	logs := filepath.Join(t.TempDir(), "logs")
	args := strings.Fields(small)
	if kind == sdk.KindModel {
		args = nil
	}
	f := startPsbench(t, slices.Concat(args, []string{
		"--registry", badRegistry(t, plugin, kind, key), "--" + flagOf(kind), key, "--transport", transport,
		"--iterations", "10", "--log-dir", logs,
	}, strings.Fields(h.args))...)
	switch {
	case h.does == "interrupted":
		f.reach("trainer0: training")
		f.interrupt()
	case h.want != "":
		f.ended()
		requireLike(t, f.lines[len(f.lines)-1], h.want)
	default:
		if status, last := f.end(); status != 0 {
			t.Errorf("exit status %d, %s", status, last)
		}
		requireLike(t, strings.Join(strings.Fields(f.stdout.String()), " "), h.warns)
		if said := f.stdout.String(); h.warns == "" && strings.Contains(said, "leaves running") {
			t.Errorf("it warns:\n%s", said)
		}
		f.leavesNothing()
	}
	files, err := filepath.Glob(filepath.Join(logs, "*"))
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Size() > 65<<20 {
			t.Errorf("the log %s has %d bytes (%v)", file, info.Size(), err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// requireLike requires that text contains the wanted text, in which ... matches anything.
func requireLike(t *testing.T, text, want string) {
	t.Helper()
	parts := strings.Split(want, "...")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	if !regexp.MustCompile(strings.Join(parts, ".*")).MatchString(text) {
		t.Errorf("psbench says\n%s\nwant\n%s", text, want)
	}
}

func sumOfFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
