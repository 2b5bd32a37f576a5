//go:build !race

package main

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// If several processes find the same error, any of them may report it first.
func TestEnginesThatLackSomething(t *testing.T) {
	const (
		small  = "--set model.dense_layers_count=1 "
		goMade = "it computes in Go, which cannot touch the memory of engine dark: choose one that computes there, or a plugin on another engine"
		apart  = " computes in the memory of engine dark, which no other process sees, so its "
		one    = " must be in one process with it: choose them of one plugin in Go, and do not isolate them"
	)
	for _, c := range []struct{ engine, args, want string }{
		{"halves", small,
			`trainer\d: model dummy: engine dark has no elements of type float32: it has float16, bfloat16`},
		{"halves", "--trainer batch_update",
			`(trainer\d: the gradients of bucket 0|server3: server batch_update): engine dark has no elements of type float32: it has float16, bfloat16`},
		{"adam", small, `trainer\d: trainer ddp, Attach: engine dark has no optimizer sgd: it has adam, adagrad`},
		{"adam", "--trainer batch_update --ntrainer 1",
			`server1: server batch_update: engine dark has no optimizer sgd: it has adam, adagrad`},
		{"adam", small + "--set trainer.optimizer=rowwise_adagrad",
			`trainer\d: trainer ddp, Attach: engine dark has no optimizer rowwise_adagrad: it has adam, adagrad`},
		{"bare", small, `trainer\d: model dummy: ` + goMade},
		{"bare", "--trainer hybrid --ntrainer 1 --nserver 1",
			`(trainer0: model mlp|server1: server embedding): ` + goMade},
		{"absent", small,
			`(trainer\d: the engine of trainer ddp|server2: the engine of server average) does not open: there is no device 0`},
		{"dark", small + "--isolate model",
			`(trainer\d: trainer ddp` + apart + `model|trainer\d.model: model dummy` + apart + `trainer)` + one},
		{"dark", small + "--isolate criterion",
			`(trainer\d: trainer ddp` + apart + `criterion|trainer\d.criterion: criterion cel` + apart + `trainer)` +
				one},
	} {
		t.Run(c.engine+" "+c.args, func(t *testing.T) {
			t.Setenv(testEngine, c.engine)
			status, _, stderr := psbenchMain(t, append([]string{"--quiet"}, strings.Fields(c.args)...)...)
			if told := regexp.MustCompile(`^psbench: ` + c.want + `\n$`); status != exitFailure ||
				!told.MatchString(stderr) {
				t.Errorf("exit status %d, error\n%s\nwant\n%s", status, stderr, c.want)
			}
		})
	}
}

// An error while an engine or its adopted memory is closed is reported like an error of a part.
func TestEnginesThatDoNotClose(t *testing.T) {
	const batchUpdate = " --trainer batch_update --nserver 1 --ntrainer 1"
	for _, c := range []struct{ engine, args, want string }{
		{"unclosed", "",
			"trainer0: engine faulty, Close: the device is gone; trainer1: engine faulty, Close: the device is gone"},
		{"hangs", " --rpc-timeout 1 --ntrainer 1", "trainer0: engine faulty is not closed after 1 s"},
		{"panics", " --ntrainer 1",
			`trainer0 \(process \d+\) ended with exit status 2 during closing; its last words: panic: the driver fell over.*`},
		{"unpinned", " --ntrainer 1", "trainer0: what engine faulty adopted, Close: it sticks"},
		{"unpinned", batchUpdate,
			"trainer0: what engine faulty adopted, Close: it sticks; server1: server batch_update, Close: it sticks"},
		{"pinless", " --ntrainer 1", `trainer0: engine faulty does not adopt \d+ bytes of buckets: cannot pin`},
		{"pinless", batchUpdate,
			`(server1: server batch_update|trainer0): engine faulty does not adopt \d+ bytes of buckets: cannot pin`},
		{"nilpin", " --ntrainer 1", ""},
		{"nilpin", batchUpdate, ""},
	} {
		t.Run(c.engine+c.args, func(t *testing.T) {
			t.Setenv(testEngine, c.engine)
			args :=
				"--quiet --set model.dense_layers_count=1 --epochs 1 --warmup none --nserver 0 --ddp-hook allreduce" +
					c.args
			if strings.Contains(c.args, "batch_update") {
				args = "--quiet --epochs 1 --warmup none" + c.args
			}
			status, _, stderr := psbenchMain(t, strings.Fields(args)...)
			if c.want == "" {
				if status != 0 {
					t.Errorf("exit status %d, error\n%s", status, stderr)
				}
				return
			}
			if told := regexp.MustCompile(`^psbench: ` + c.want + `\n$`); status != exitFailure ||
				!told.MatchString(stderr) {
				t.Errorf("exit status %d, error\n%s\nwant\n%s", status, stderr, c.want)
			}
		})
	}
}

// Engines are also closed after an interrupt or a failure. The errors of engines are appended to the message.
func TestEnginesAreClosedHoweverARunEnds(t *testing.T) {
	t.Setenv(testEngine, "unclosed")
	const told = "; at the end trainer0: engine faulty, Close: the device is gone"
	world := strings.Fields("--set model.dense_layers_count=1 --warmup none --nserver 0 --ddp-hook allreduce")
	t.Run("interrupted", func(t *testing.T) {
		f := startPsbench(t, append(world, "--ntrainer", "2", "--epochs", "100000")...)
		f.reach("measured pass")
		f.interrupt()
		if !strings.Contains(f.text(), told) {
			t.Errorf("it says\n%s", f.text())
		}
	})
	t.Run("killed", func(t *testing.T) {
		f := startPsbench(t, append(world, "--ntrainer", "2", "--epochs", "100000")...)
		f.reach("measured pass")
		f.signal("trainer1", syscall.SIGKILL)
		f.ended("trainer1")
		if !strings.Contains(f.text(), told) {
			t.Errorf("it says\n%s", f.text())
		}
	})
}

// A copy that never ends makes the run fail, even if no other process waits for this trainer.
func TestEnginesWhoseCopiesDoNotEnd(t *testing.T) {
	t.Setenv(testEngine, "held")
	for _, trainers := range []string{"1", "2"} {
		t.Run(trainers, func(t *testing.T) {
			status, _, stderr := psbenchMain(t,
				strings.Fields("--quiet --set model.dense_layers_count=1 --epochs 1 --warmup none --nserver 0 --ddp-hook allreduce --rpc-timeout 2 --ntrainer "+
					trainers)...)
			told :=
				regexp.MustCompile(`^psbench: trainer\d: engine dark has not ended a copy after 2 s, so its Wait does not return: look at the device, or raise --rpc-timeout if its work takes that long; at the end `)
			if status != exitFailure || !told.MatchString(stderr) {
				t.Errorf("%s trainers: exit status %d, error\n%s", trainers, status, stderr)
			}
		})
	}
}
