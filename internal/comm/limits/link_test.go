package limits

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Steps of the test between namespaces. The test binary starts itself once per
// step.
const (
	stepVariable = "PSBENCH_TEST_LINK_STEP"
	between      = "between" // runs in its own network namespace, which has the link
	serving      = "serving" // runs in a second namespace, at the other end of the link
)

// here and there are the addresses of the two ends.
const here, there = "192.0.2.1", "192.0.2.2"

// connections returns n loopback connections whose other ends run ServeLink.
func connections(t *testing.T, n int) (list []net.Conn, served chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	served = make(chan error, n)
	for range n {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		other, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		go func() { served <- ServeLink(other) }()
		t.Cleanup(func() { _, _ = c.Close(), other.Close() })
		list = append(list, c)
	}
	return list, served
}

func TestMeasureLink(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			list, served := connections(t, n)
			l, err := MeasureLink(list, 30*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			plausible(t, l.OutGBps)
			plausible(t, l.BackGBps)
			if l.RoundTripUS <= 0 || l.RoundTripUS > 5e6 {
				t.Errorf("a round trip of %g µs", l.RoundTripUS)
			}
			for range n {
				if err := <-served; err != nil {
					t.Errorf("of %d connections one was served with %v", n, err)
				}
			}
		})
	}
}

// late is a connection that delays writes.
type late struct {
	net.Conn
	by time.Duration
}

func (c late) Write(data []byte) (int, error) {
	time.Sleep(c.by)
	return c.Conn.Write(data)
}

// The round-trip time covers both directions and has the right unit.
func TestRoundTripOfALink(t *testing.T) {
	const by = 20 * time.Millisecond
	list, _ := connections(t, 1)
	l, err := MeasureLink([]net.Conn{late{list[0], by}}, 300*time.Millisecond)
	if err != nil || l.RoundTripUS < float64(by.Microseconds()) || l.RoundTripUS > 100*float64(by.Microseconds()) {
		t.Errorf("a link that is late by %v: %+v (%v)", by, l, err)
	}
}

func TestLinksThatFail(t *testing.T) {
	if _, err := MeasureLink(nil, time.Second); err == nil ||
		err.Error() != "a link cannot be measured without a connection" {
		t.Errorf("without a connection: %v", err)
	}
	gone, served := connections(t, 2)
	_ = gone[1].Close()
	if err := <-served; err == nil {
		t.Error("a connection that ended early was served well")
	}
	if _, err := MeasureLink(gone, time.Millisecond); err == nil ||
		!strings.HasPrefix(err.Error(), "the link from 127.0.0.1:") ||
		!strings.Contains(err.Error(), " cannot be measured: ") {
		t.Errorf("with a connection that is closed: %v", err)
	}
	a, b := net.Pipe()
	go func() { _, _ = a.Write([]byte{99}) }()
	if err := ServeLink(b); err == nil ||
		err.Error() != "pipe asks for 99, which is no step of a link measurement" {
		t.Errorf("asked for nonsense: %v", err)
	}
	_, _ = a.Close(), b.Close()
}

// MeasureLink finds the rates that the kernel gives a link between two
// namespaces, with a different limit in each direction.
func TestLinkBetweenNamespaces(t *testing.T) {
	switch os.Getenv(stepVariable) {
	case between:
		measureBetween(t)
		return
	case serving:
		serveBetween(t)
		return
	}
	cmd := step(between)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	text, err := cmd.CombinedOutput()
	t.Logf("%s", text)
	switch {
	case err == nil:
	case cmd.ProcessState == nil || strings.Contains(string(text), missing):
		t.Skipf("there are no network namespaces, or no ip and tc of iproute2 with tbf: %v", err)
	default:
		t.Error(err)
	}
}

// missing starts the inner test's message that it cannot make a link.
const missing = "a link cannot be made"

func step(name string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestLinkBetweenNamespaces$", "-test.v") // #nosec G204 -- the test itself
	cmd.Env = append(os.Environ(), stepVariable+"="+name)
	return cmd
}

// measureBetween makes a link to another namespace, limits its rates and
// measures it.
func measureBetween(t *testing.T) {
	other := step(serving)
	other.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	stop, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatalf("%s: %v", missing, err)
	}
	defer func() { _, _ = stop.Close(), other.Wait() }()
	pid := fmt.Sprint(other.Process.Pid)
	do := func(command string) {
		words := strings.Fields(command)
		if text, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil { // #nosec G204 -- these
			t.Fatalf("%s: %s: %v, %s", missing, command, err, text)
		}
	}
	inside := "nsenter --target " + pid + " --net "
	do("ip link add here type veth peer name there netns " + pid)
	do("ip address add " + here + "/24 dev here")
	do("ip link set here up")
	do(inside + "ip address add " + there + "/24 dev there")
	do(inside + "ip link set there up")
	do("tc qdisc replace dev here root tbf rate 80mbit burst 32kb latency 20ms")
	do(inside + "tc qdisc replace dev there root tbf rate 40mbit burst 32kb latency 20ms")
	list := dialed(t)
	l, err := MeasureLink(list, 1500*time.Millisecond)
	for _, c := range list {
		_ = c.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("80 Mbit/s out and 40 back: %+v", l)
	// Headers lower the rate; the burst raises it.
	near := func(got, want float64) bool { return got > 0.7*want && got < 1.25*want }
	if !near(l.OutGBps, 0.010) || !near(l.BackGBps, 0.005) || l.RoundTripUS <= 0 {
		t.Errorf("80 Mbit/s out and 40 back are %+v", l)
	}
}

// dialed returns two connections to the other namespace. dialed retries,
// because the server there may not listen yet.
func dialed(t *testing.T) (list []net.Conn) {
	for deadline := time.Now().Add(20 * time.Second); len(list) < 2; {
		c, err := (&net.Dialer{Timeout: time.Second}).Dial("tcp", there+":9")
		if err == nil {
			list = append(list, c)
			continue
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return list
}

// serveBetween serves links until standard input ends.
func serveBetween(t *testing.T) {
	l, err := net.Listen("tcp", ":9")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = ServeLink(c)
				_ = c.Close()
			}()
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = l.Close()
	<-done
}
