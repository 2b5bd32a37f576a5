//go:build !race

package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A trainer in an external plugin needs only public packages. This trainer multiplies its learning rate by the number
// of trainers. So with two trainers, the losses equal the losses of psbench's own trainer with twice the learning
// rate.
func TestForeignTrainer(t *testing.T) {
	file := foreignPlugin(t, "foreign")
	apart := file + "-apart" // a registry file that does not mention psbench's parts
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(apart, []byte(strings.ReplaceAll(string(text), `, "includes": ["builtin"]`, "")),
		0o600); err != nil {
		t.Fatal(err)
	}
	together := []string{"data", "trainer0", "trainer1"}
	for name, c := range map[string]struct {
		flags     []string
		registry  string
		processes []string
	}{
		"group":  {[]string{"--nserver", "0"}, file, together},
		"server": {nil, file, append(slices.Clone(together), "server2")},
		"apart": {[]string{"--nserver", "0"}, apart, []string{
			"data", "trainer0", "trainer0.hook", "trainer0.criterion", "trainer0.model",
			"trainer1", "trainer1.hook", "trainer1.criterion", "trainer1.model",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			small := append([]string{"--epochs", "2", "--set", "model.dense_layers_count=2"}, c.flags...)
			want := runs(t, append(small, "--set", "trainer.lr=32")...)
			got := runs(t, append(small, "--set", "trainer.lr=16", "--trainer", "scaled", "--registry", c.registry)...)
			if d := cmp.Diff(want.Losses, got.Losses); d != "" {
				t.Errorf("%s: other losses than those of ddp with twice the learning rate: %s", name, d)
			}
			var processes []string
			for _, p := range got.Processes {
				processes = append(processes, p.Name)
			}
			slices.Sort(processes)
			slices.Sort(c.processes)
			if d := cmp.Diff(c.processes, processes); d != "" {
				t.Errorf("%s: the processes are %s", name, d)
			}
		})
	}
}

// A plugin on its own engine offers psbench's trainer under another key. The losses equal the losses of psbench's own
// plugin.
func TestDevicePlugin(t *testing.T) {
	small := []string{"--epochs", "2", "--nserver", "0", "--set", "model.dense_layers_count=2", "--set",
		"trainer.lr=16"}
	want := runs(t, small...)
	got := runs(t, append(small, "--trainer", "device_ddp", "--registry", foreignPlugin(t, "device"))...)
	if d := cmp.Diff(want.Losses, got.Losses); d != "" || len(want.Losses) == 0 {
		t.Errorf("other losses than those of ddp: %s", d)
	}
	for _, p := range got.Processes {
		if p.Name == "trainer0" && p.Facts["memory"] != "dark" {
			t.Errorf("it ran elsewhere: its facts are %v", p.Facts)
		}
	}
}
