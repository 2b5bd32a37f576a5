package procfs

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	const rest = " S 1 77 77 0 -1 4194560 9 8 7 6 100 50 20 5 20 0 9 0 1234"
	want := Stat{Parent: 1, Group: 77, State: "S", CPU: 1500 * time.Millisecond, ChildrenCPU: 250 * time.Millisecond}
	for text, ok := range map[string]bool{
		"4000 (psbench)" + rest:                                      true,
		"4000 (a) R 1 2 (b) 3)" + rest:                               true,
		"4000 (psbench) S 1 77 77":                                   false,
		"4000 psbench S 1 77 77 0 -1 4194560 9 8 7 6 100 50 20 5 20": false,
		"4000 (psbench) S 1 x 77 0 -1 4194560 9 8 7 6 100 50 20 5":   false,
		"4000 (psbench) S 1 77 77 0 -1 4194560 9 8 7 6 100 -5 20 5":  false,
		"": false,
	} {
		t.Run(fmt.Sprintf("%.60s", text), func(t *testing.T) {
			if got, told := parseStat(text); told != ok || ok && got != want {
				t.Errorf("%q: %+v, %v", text, got, told)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	for text, want := range map[string]float64{
		"14.80 12.97 8.49 3/134 27496\n": 14.8, "0.00": 0, "": -1, "much": -1, "NaN 1 1": -1, "Inf 1 1": -1,
		"-1 2 3": -1,
	} {
		t.Run(text, func(t *testing.T) {
			got, ok := Load(tree(map[string]string{"proc/loadavg": text}))
			if ok != (want >= 0) || ok && got != want {
				t.Errorf("%q: %v, %v", text, got, ok)
			}
		})
	}
}

func TestParsePIDs(t *testing.T) {
	for text, want := range map[string][]int{
		"": nil, "12 13 \n": {12, 13}, "12 x 13": {12}, "0": nil, "-4": nil, "99999999999": nil,
	} {
		t.Run(text, func(t *testing.T) {
			if d := cmp.Diff(want, parsePIDs(text)); d != "" {
				t.Errorf("%q: %s", text, d)
			}
		})
	}
}

// For any file content, times and process numbers are not negative.
func FuzzStat(f *testing.F) {
	f.Add("4000 (a) b) S 1 77 77 0 -1 4194560 9 8 7 6 100 50 20 5 20 0 9 0 1234")
	f.Add("14.80 12.97 8.49 3/134 27496\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, ok := parseStat(text); ok && (s.CPU < 0 || s.ChildrenCPU < 0 || s.State == "") {
			t.Errorf("process %+v", s)
		}
		if load, ok := Load(tree(map[string]string{"proc/loadavg": text})); ok && !(load >= 0) {
			t.Errorf("load %v", load)
		}
		for _, pid := range parsePIDs(text) {
			if pid <= 0 {
				t.Errorf("process %d", pid)
			}
		}
	})
}

// A process that only cleans up has a certain flag or state.
func TestExiting(t *testing.T) {
	for text, want := range map[string]bool{
		"7 (x) R 1 7 7 0 -1 4194560 0 0 0 0 1 1 0 0": false,
		"7 (x) R 1 7 7 0 -1 4194564 0 0 0 0 1 1 0 0": true,
		"7 (x) Z 1 7 7 0 -1 0 0 0 0 0 1 1 0 0":       true,
		"7 (x) X 1 7 7 0 -1 0 0 0 0 0 1 1 0 0":       true,
	} {
		t.Run(text, func(t *testing.T) {
			if s, ok := parseStat(text); !ok || s.Exiting != want {
				t.Errorf("%q: %+v, %v; want exiting %v", text, s, ok, want)
			}
		})
	}
}

// The functions find this process, its parent's number, and its memory.
func TestHere(t *testing.T) {
	s, ok := ReadStat(Here(), os.Getpid())
	if !ok || s.PID != os.Getpid() || s.Parent != os.Getppid() || s.Exiting {
		t.Errorf("this process is %+v, %v", s, ok)
	}
	if pids, err := PIDs(Here()); err != nil || !slices.Contains(pids, os.Getpid()) {
		t.Errorf("the processes %v do not include this one, %d (%v)", pids, os.Getpid(), err)
	}
	if total := MemTotal(Here()); total < 16<<20 {
		t.Errorf("this machine has %d bytes", total)
	}
}

func TestChildren(t *testing.T) {
	root := tree(map[string]string{"proc/self/task/7/children": "8 9 ", "proc/self/task/10/children": "11",
		"proc/12/task/12/children": "13"})
	for process, want := range map[string][]int{"self": {11, 8, 9}, "12": {13}, "14": nil} {
		t.Run(process, func(t *testing.T) {
			if d := cmp.Diff(want, Children(root, process)); d != "" {
				t.Errorf("the children of %s: %s", process, d)
			}
		})
	}
}

func TestField(t *testing.T) {
	const info = "processor\t: 0\nmodel name\t: Example: 9000 @ 3 GHz\nmodel name\t: other\n"
	for name, want := range map[string]string{"model name": "Example: 9000 @ 3 GHz", "processor": "0", "model": "",
		"name": ""} {
		t.Run(name, func(t *testing.T) {
			if got := Field(info, name); got != want {
				t.Errorf("%q is %q, want %q", name, got, want)
			}
		})
	}
}
