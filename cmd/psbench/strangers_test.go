//go:build !race

package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/core/record/result"
)

// listeners returns the addresses at which the run's processes wait for links, in the form that net.Dial expects.
func (f *faultRun) listeners(network string) []string {
	f.t.Helper()
	inodes := map[string]bool{}
	for _, pid := range f.pids() {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, file := range files {
			if to, err := os.Readlink(file); err == nil {
				inodes[to] = true
			}
		}
	}
	table, err := os.Open("/proc/net/" + network)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = table.Close() }()
	var found []string
	for s := bufio.NewScanner(table); s.Scan(); {
		words := strings.Fields(s.Text())
		switch {
		case network == "tcp" && words[3] == "0A" && inodes["socket:["+words[9]+"]"]:
			_, port, _ := strings.Cut(words[1], ":")
			n, err := strconv.ParseUint(port, 16, 16)
			if err != nil {
				f.t.Fatal(err)
			}
			found = append(found, fmt.Sprintf("127.0.0.1:%d", n))
		case network == "unix" && len(words) == 8 && inodes["socket:["+words[6]+"]"] &&
			strings.HasSuffix(words[7], ".sock"):
			found = append(found, words[7])
		}
	}
	return found
}

// Other programs on the host connect to every socket of a run and send nothing. The run has few descriptors, but its
// outcome is the same as without these connections.
func TestSilentStrangers(t *testing.T) {
	const strangers, descriptors, mostMiB = 300, 200, 400
	small := []string{"--epochs", "1", "--batch-size", "1", "--set", "model.dense_layers_count=2"}
	alone := startPsbench(t, append(withActor(t, script{}), small...)...)
	if status, last := alone.end(); status != 0 {
		t.Fatal(last)
	}
	for transport, network := range map[string]string{"tcp": "tcp", "grpc": "tcp", "unix": "unix"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "r.json")
			loaded := filepath.Join(t.TempDir(), "loaded")
			args := append(withActor(t, script{Until: loaded}), small...) // others listen and wait for the data
			f := startPsbench(t, append(args, "--transport", transport, "--json", out)...)
			var at []string
			for end := time.Now().Add(time.Minute); len(at) < 3; at = f.listeners(network) {
				if time.Now().After(end) {
					t.Fatalf("only %v listen:\n%s", at, f.text())
				}
				time.Sleep(time.Millisecond)
			}
			for name, pid := range f.pids() {
				if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: descriptors, Max: descriptors},
					nil); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			for _, address := range at {
				for range strangers {
					nc, err := net.Dial(network, address)
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = nc.Close() }()
				}
			}
			if err := os.WriteFile(loaded, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			f.reach("warm-up")
			for _, address := range at {
				if nc, err := net.Dial(network, address); err == nil {
					_ = nc.Close()
					t.Errorf("%s takes calls once all links are up", address)
				}
			}
			if status, last := f.end(); status != 0 {
				t.Fatal(last)
			}
			if got, want := lossLine(f), lossLine(alone); got != want || want == "" {
				t.Errorf("the run ends with %q, and without strangers with %q", got, want)
			}
			res, err := result.Read(out)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range res.Processes {
				if p.RSSMiB > mostMiB {
					t.Errorf("%s used %.0f MiB", p.Name, p.RSSMiB)
				}
			}
		})
	}
}

func lossLine(f *faultRun) string {
	for line := range strings.Lines(f.stdout.String()) {
		if strings.HasPrefix(line, "loss") {
			return line
		}
	}
	return ""
}
