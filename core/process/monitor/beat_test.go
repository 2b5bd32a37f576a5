package monitor

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// beBeating is the main function of the child process that sends beats.
func beBeating() {
	f := BeatPipe()
	if f == nil {
		os.Exit(3)
	}
	told := make(chan struct{})
	n := int64(0)
	stop := SendBeats(f, time.Millisecond, func() Beat {
		if n++; n == 3 {
			close(told)
		}
		return Beat{Phase: "measured pass" + strings.Repeat("x", 1000), Iterations: n, Of: 40, Rate: 12.5,
			Loss: Finite(math.NaN())}
	})
	<-told
	// Child processes of this process inherit nothing of the pipe.
	out, err := exec.Command("sh", "-c", "echo $_PSBENCH_HEARTBEAT; ls -l /proc/self/fd/3 2>&1").Output()
	if err == nil || strings.Contains(string(out), "pipe") {
		fmt.Fprintf(os.Stderr, "its child has %s", out)
	}
	stop()
}

func TestBeatsOfAChild(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	var said bytes.Buffer
	cmd.Env, cmd.ExtraFiles, cmd.Stderr = append(os.Environ(), BeatVariable(), "PSBENCH_TEST_CHILD=1"), []*os.File{w},
		&said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	var beats []Beat
	ReadBeats(r, func(b Beat) { beats = append(beats, b) })
	if err := cmd.Wait(); err != nil || said.Len() > 0 {
		t.Fatalf("%v: %s", err, &said)
	}
	if len(beats) < 2 {
		t.Fatalf("there are %d beats", len(beats))
	}
	want := Beat{Phase: ("measured pass" + strings.Repeat("x", 1000))[:mostPhase], Iterations: 1, Of: 40, Rate: 12.5}
	if diff := cmp.Diff(want, beats[0]); diff != "" {
		t.Error(diff)
	}
}

// If there is no pipe or the file is not valid, no beats are sent.
func TestNoBeatPipe(t *testing.T) {
	for _, value := range []string{"", "0", "3", "4", "x"} {
		t.Run(value, func(t *testing.T) {
			t.Setenv(beatVariable, value)
			cmd := exec.Command(os.Args[0]) // file 3 is closed in this child
			cmd.Env = append(os.Environ(), "PSBENCH_TEST_CHILD=1")
			if err := cmd.Run(); cmd.ProcessState.ExitCode() != 3 {
				t.Errorf("%s=%s: %v", beatVariable, value, err)
			}
		})
	}
}

// A reader that stops reading does not delay the sender.
func TestNobodyReads(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if _, err := w.Write(make([]byte, 64<<10)); err != nil { // the pipe is full
		t.Fatal(err)
	}
	tried := make(chan struct{}, 100)
	stop := SendBeats(w, time.Millisecond, func() Beat {
		select {
		case tried <- struct{}{}:
		default:
		}
		return Beat{}
	})
	<-tried
	<-tried
	stop()
}

func TestReadBeats(t *testing.T) {
	for text, want := range map[string]int{
		"":                             0,
		"{\"phase\":\"a\"}\n{}":        2,
		"nonsense\n{}\n":               1,
		"{\"iterations\":-1}\n":        0,
		"{\"rate\":-1}\n{\"of\":-1}\n": 0,
		"{\"rate\":1e999}\n":           0,
		strings.Repeat("x", 1<<20):     0,
	} {
		t.Run(text, func(t *testing.T) {
			heard := 0
			ReadBeats(strings.NewReader(text), func(Beat) { heard++ })
			if heard != want {
				t.Errorf("%.40q has %d beats, want %d", text, heard, want)
			}
		})
	}
}

func FuzzReadBeats(f *testing.F) {
	f.Add(`{"phase":"measured pass","iterations":1,"of":2,"rate":3,"loss":4}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		ReadBeats(strings.NewReader(text), func(b Beat) {
			if b.Iterations < 0 || b.Of < 0 || b.Rate < 0 || math.IsNaN(b.Rate) {
				t.Errorf("a beat is %+v", b)
			}
		})
	})
}
