package limit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Versions 1 and 2 of cgroups use different files to limit memory. A cgroup without these files cannot limit memory.
func TestVersionsOfCgroups(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string // files that the kernel makes in a cgroup
		want  map[string]string
		ooms  string
	}{
		"2": {
			map[string]string{"memory.max": "max", "memory.swap.max": "max", "memory.events": ""},
			map[string]string{"memory.max": "4096", "memory.swap.max": "0"}, "memory.events",
		},
		"2 without swap": {map[string]string{"memory.max": "max", "memory.events": ""},
			map[string]string{"memory.max": "4096"}, "memory.events"},
		"1": {
			map[string]string{"memory.limit_in_bytes": "-1", "memory.memsw.limit_in_bytes": "-1",
				"memory.oom_control": ""},
			map[string]string{"memory.limit_in_bytes": "4096", "memory.memsw.limit_in_bytes": "4096"},
			"memory.oom_control",
		},
		"2 whose parent does not hand memory on": {map[string]string{"cgroup.procs": "", "pids.max": "max"}, nil, ""},
	} {
		folder := t.TempDir()
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for file, text := range c.files {
			write(file, text)
		}
		g := &Group{folder: folder}
		if bounds := g.boundMemory(4096); bounds != (c.want != nil) {
			t.Errorf("version %s bounds memory: %v", name, bounds)
		}
		for file, want := range c.want {
			if text, err := os.ReadFile(filepath.Join(folder, file)); err != nil ||
				!strings.HasPrefix(string(text), want) {
				t.Errorf("version %s: %s is %q (%v), want %s", name, file, text, err, want)
			}
		}
		if c.want == nil {
			continue
		}
		for text, want := range map[string]bool{"oom 3\noom_kill 0\n": false,
			"low 0\noom 3\noom_kill 2\noom_group_kill 0\n": true} {
			write(c.ooms, text)
			if exceeded, known := g.Exceeded(); exceeded != want || !known {
				t.Errorf("version %s, %q: exceeded %v, known %v", name, text, exceeded, known)
			}
		}
	}
	parent := t.TempDir()
	if g := makeGroup([]string{"/nowhere", parent}, "group", 4096); g != nil {
		t.Errorf("%s bounds memory", g.folder)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("what bounds nothing is left: %v, %v", left, err)
	}
	if exceeded, known := (&Group{folder: "/nowhere", files: groupVersions[0]}).Exceeded(); exceeded || known {
		t.Error("a cgroup that was not joined knows who was killed")
	}
}
