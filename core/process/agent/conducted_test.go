package agent

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/core/process/launchers/rollcall"
)

// called dials an agent in the way that a conducted run does.
func called(t *testing.T, s *served) *Host {
	t.Helper()
	text, err := (&Meeting{Secret: []byte(ours),
		Tasks: []rollcall.Task{{Host: "node1"}, {Host: "node2", Address: s.address}}}).Call()
	if err != nil {
		t.Fatal(err)
	}
	m, err := Called(text)
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := Gather(t.Context(), m, patience)
	if err != nil {
		t.Fatal(err)
	}
	if len(hosts) != 1 || hosts[0].Name != "node2" {
		t.Fatalf("the hosts are %+v", hosts)
	}
	return hosts[0]
}

// Conducted runs come and go while the core keeps its connection to an agent. When the connection of a run ends, the
// agent ends that run. The next run waits until this has happened.
func TestConductedRuns(t *testing.T) {
	agent := serve(t, patience)
	core := dial(t, agent, patience)
	for _, c := range []struct {
		name string
		end  func(h *Host)
	}{
		{"killed", func(h *Host) { h.stop(); _ = h.conn.Close() }},
		{"failed", func(h *Host) { _ = h.Leave(true) }},
		{"done", func(h *Host) { _ = h.Leave(false) }},
	} {
		h := called(t, agent)
		s := starterOf(t, h, launch.Output{})
		p := start(t, s, "trainer1")
		if _, err := open(h, 1, patience, launch.Output{}); err == nil ||
			err.Error() != "the agent on node2 cannot begin: a run is open already" {
			t.Errorf("%s: a second run of one caller: %v", c.name, err)
		}
		next := called(t, agent)
		opened := make(chan error, 1)
		go func() {
			r, err := open(next, 1, patience, launch.Output{})
			if err == nil {
				err = r.close(true)
			}
			opened <- err
		}()
		select {
		case err := <-opened:
			t.Errorf("%s: another run has not waited: %v", c.name, err)
		case <-time.After(100 * time.Millisecond):
		}
		c.end(h)
		if err := <-opened; err != nil {
			t.Errorf("%s: the next run: %v", c.name, err)
		}
		exited(t, p)
		if err := next.Leave(false); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		_ = s.Close(false)
	}
	if err := Present([]*Host{core}); err != nil {
		t.Errorf("the agent is there, but %v", err)
	}
	if err := core.Leave(false); err != nil {
		t.Error(err)
	}
	if err := agent.end(t); err != nil {
		t.Errorf("the agent ends with %v", err)
	}
}

// A run that waits for the end of another run gives up once the agent's heartbeats stop.
func TestLostBeforeARunBegins(t *testing.T) {
	agent := serve(t, patience)
	core, h := dial(t, agent, patience), called(t, agent)
	s := starterOf(t, h, launch.Output{})
	next := called(t, agent)
	opened := make(chan error, 1)
	go func() {
		_, err := open(next, 1, patience, launch.Output{})
		opened <- err
	}()
	next.Lose(errors.New("a test"))
	select {
	case err := <-opened:
		if err == nil || err.Error() != "the agent on node2 is gone: a test" {
			t.Errorf("it said %v", err)
		}
	case <-time.After(patience):
		t.Error("it waits on")
	}
	_ = s.Close(false)
	for i, host := range []*Host{next, h, core} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if err := host.Leave(false); err != nil {
				t.Error(err)
			}
		})
	}
	if err := agent.end(t); err != nil {
		t.Error(err)
	}
}

// Present reports an agent that does not answer, even if the core has not noticed the loss.
func TestAbsent(t *testing.T) {
	first, second := serve(t, patience), serve(t, patience)
	hosts := []*Host{dial(t, first, patience), dial(t, second, patience)}
	hosts[1].Name = "node3"
	second.cancel()
	_ = second.end(t)
	if err := Present(hosts); err == nil || err.Error() != "the agent on node3 is gone" {
		t.Errorf("it said %v", err)
	}
	_ = Leave(hosts, false)
}

// An invalid call is refused. The error does not quote the text, because the text contains a secret.
func TestCallsThatAreNone(t *testing.T) {
	for _, text := range []string{"a secret", `{"secret": "YSBzZWNyZXQ="}`, `{"hosts": [{"host": "node1"}]}`, "{"} {
		t.Run(text, func(t *testing.T) {
			if _, err := Called(text); err == nil || strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v", text, err)
			}
		})
	}
}
