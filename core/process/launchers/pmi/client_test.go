package pmi_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/psbench/psbench/core/process/launchers/pmi"
	"github.com/psbench/psbench/core/process/launchers/pmi/pmitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, s *pmitest.Server, rank int, timeout time.Duration) *pmi.Client {
	t.Helper()
	c, err := pmi.Open(t.Context(), s.Dial(t, rank), timeout)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// After the barrier, every task can read what each task has stored.
func TestTasksExchange(t *testing.T) {
	const size = 5
	s := &pmitest.Server{Size: size}
	var tasks sync.WaitGroup
	for rank := range size {
		c := open(t, s, rank, 10*time.Second)
		tasks.Go(func() {
			ctx := t.Context()
			if n, err := c.AppNum(ctx); n != 0 || err != nil {
				t.Errorf("the program has the number %d, %v", n, err)
			}
			if _, err := c.Get(ctx, "nobody's"); !errors.Is(err, pmi.ErrNoKey) {
				t.Errorf("a key that nobody has put: %v", err)
			}
			if err := errors.Join(c.Put(ctx, "rank"+strconv.Itoa(rank), "value="+strconv.Itoa(rank)),
				c.Barrier(ctx)); err != nil {
				t.Error(err)
			}
			for other := range size {
				if got, err := c.Get(ctx, "rank"+strconv.Itoa(other)); got != "value="+strconv.Itoa(other) ||
					err != nil {
					t.Errorf("rank %d has %q of %d, %v", rank, got, other, err)
				}
			}
			if err := c.Close(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	tasks.Wait()
	if s.Finished() != size {
		t.Errorf("%d of %d tasks are done", s.Finished(), size)
	}
}

// For every invalid answer, the error contains the request and the answer.
func TestWrongAnswers(t *testing.T) {
	for answer, want := range map[string]string{
		"":                       `PMI barrier_in: no answer within 200ms`,
		"cmd=maxes rc=0\n":       `PMI barrier_in: cmd=maxes came, but the answer to it is cmd=barrier_out`,
		"cmd=barrier_out rc=1\n": `PMI barrier_in: the launcher refuses it with rc=1`,
		"cmd=barrier_out rc=-1 msg=no_such_thing\n": `PMI barrier_in: the launcher refuses it with rc=-1, no_such_thing`,
		"barrier_out\n":                      `PMI barrier_in: "barrier_out\n" came, whose word 1 is not KEY=VALUE of printable ASCII`,
		"rc=0 cmd=barrier_out\n":             `PMI barrier_in: "rc=0 cmd=barrier_out\n" came, which does not have cmd= as its first word, once`,
		"cmd=barrier_out  rc=0\n":            `PMI barrier_in: "cmd=barrier_out  rc=0\n" came, whose word 2 is not KEY=VALUE of printable ASCII`,
		"cmd=barrier_out rc=0 rc=1\n":        `PMI barrier_in: "cmd=barrier_out rc=0 rc=1\n" came, which has rc twice`,
		"cmd=\n":                             `PMI barrier_in: "cmd=\n" came, whose command has no name`,
		"cmd=barrier_out\ncmd=barrier_out\n": `PMI barrier_in: more than the answer came, 16 bytes`,
		"cmd=" + strings.Repeat("x", 10<<10): `which does not end its line within 8192 bytes`,
		"cmd=barrier_out rc=\x00\n":          `whose word 2 is not KEY=VALUE of printable ASCII`,
	} {
		t.Run(answer, func(t *testing.T) {
			s := &pmitest.Server{Size: 1,
				Answer: func(_ int, request string) (string, bool) { return answer, request == "cmd=barrier_in" }}
			c := open(t, s, 0, 200*time.Millisecond)
			err := c.Barrier(t.Context())
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%.40q gives %v, which does not say %s", answer, err, want)
			}
			var refused *pmi.RefusedError
			again := c.Put(t.Context(), "key", "value")
			if errors.As(err, &refused) != (again == nil) {
				t.Errorf("after %.40q the next request gives %v", answer, again)
			}
			_ = c.Close(t.Context())
		})
	}
}

// Open fails if the launcher's first answers are not usable.
func TestWrongBeginnings(t *testing.T) {
	for answer, want := range map[string][2]string{
		"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n": {"cmd=init",
			`PMI init: the launcher speaks version "2", psbench version 1`},
		"cmd=maxes kvsname_max=256 keylen_max=64\n": {"cmd=get_maxes",
			"PMI get_maxes: the answer has no vallen_max"},
		"cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=0\n": {"cmd=get_maxes",
			"PMI get_maxes: vallen_max is 0 but must be 1 or more"},
		"cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1e3\n": {"cmd=get_maxes",
			`PMI get_maxes: vallen_max is "1e3" but must be a whole number`},
		"cmd=my_kvsname rc=0\n": {"cmd=get_my_kvsname",
			"PMI get_my_kvsname: the answer has no kvsname"},
	} {
		t.Run(answer, func(t *testing.T) {
			s := &pmitest.Server{Size: 1,
				Answer: func(_ int, request string) (string, bool) {
					return answer, strings.HasPrefix(request, want[0])
				}}
			if _, err := pmi.Open(t.Context(), s.Dial(t, 0), time.Second); err == nil || err.Error() != want[1] {
				t.Errorf("%q gives %v, not %s", answer, err, want[1])
			}
		})
	}
}

// A wait ends when the launcher dies or the user interrupts.
func TestEnds(t *testing.T) {
	server, task := net.Pipe()
	go func() {
		_, _ = server.Read(make([]byte, 100))
		_ = server.Close()
	}()
	if _, err := pmi.Open(t.Context(), task, 10*time.Second); err == nil ||
		err.Error() != "PMI init: the launcher has closed the connection" {
		t.Errorf("a launcher that dies gives %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := open(t, &pmitest.Server{Size: 2}, 0, 10*time.Second)
	time.AfterFunc(20*time.Millisecond, cancel)
	if err := c.Barrier(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a barrier that is cancelled gives %v", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Put refuses keys and values that do not fit into a line.
func TestPutRefuses(t *testing.T) {
	c := open(t, &pmitest.Server{Size: 1}, 0, time.Second)
	for i, pair := range [][2]string{{"", "v"}, {"a b", "v"}, {"k", ""}, {"k", "v\ncmd=abort"},
		{strings.Repeat("k", 64), "v"}, {"k", strings.Repeat("v", 1024)}} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if err := c.Put(t.Context(), pair[0], pair[1]); err == nil ||
				!strings.Contains(err.Error(), "must be printable ASCII without spaces") {
				t.Errorf("%.20q, %.20q gives %v", pair[0], pair[1], err)
			}
		})
	}
	if err := c.Put(t.Context(), strings.Repeat("k", 63), strings.Repeat("v", 1023)); err != nil {
		t.Error(err)
	}
}

func TestInherited(t *testing.T) {
	for value, want := range map[string]string{
		"":     `PMI_FD is "" but must be the number of a descriptor above 2`,
		"2":    `PMI_FD is "2" but must be the number of a descriptor above 2`,
		"-1":   `PMI_FD is "-1" but must be the number of a descriptor above 2`,
		"9999": `PMI_FD is 9999, but that is no connection to a launcher: bad file descriptor`,
	} {
		t.Run(value, func(t *testing.T) {
			if _, err := pmi.Inherited("PMI_FD", value); err == nil || err.Error() != want {
				t.Errorf("%q gives %v, not %s", value, err, want)
			}
		})
	}
}

// No input makes a client panic or exceed its timeout.
func FuzzClient(f *testing.F) {
	f.Add([]byte(
		"cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\ncmd=maxes kvsname_max=9 keylen_max=9 vallen_max=9\n"))
	f.Fuzz(func(t *testing.T, said []byte) {
		server, task := net.Pipe()
		var serving sync.WaitGroup
		serving.Go(func() { _, _ = io.Copy(io.Discard, server) })
		serving.Go(func() {
			for line := range strings.Lines(string(said)) {
				if _, err := io.WriteString(server, line); err != nil {
					return
				}
			}
			_ = server.Close()
		})
		if c, err := pmi.Open(t.Context(), task, time.Second); err == nil {
			_ = c.Put(t.Context(), "k", "v")
			_ = c.Barrier(t.Context())
			_, _ = c.Get(t.Context(), "k")
			_ = c.Close(t.Context())
		}
		_ = server.Close()
		serving.Wait()
	})
}
