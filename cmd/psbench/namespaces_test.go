package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/measure/micro"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/internal/comm/bench"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/sdk"
)

// line is the connection between two hosts.
type line struct {
	gbit  int           // Gbit/s in each direction; 0 means unlimited
	delay time.Duration // in each direction
}

// namespaces are two network namespaces with a line between them. The process trainer0 runs in the first one, and the
// server and trainer1 run in the second.
type namespaces struct {
	launcher *launch.Launcher
	names    [2]string
}

// ips are the addresses of the two namespaces.
var ips = [2]string{"198.18.0.1", "198.18.0.2"}

// newNamespaces creates the namespaces. It needs root, ip and tc.
func newNamespaces(b *testing.B, l line) *namespaces {
	b.Helper()
	if os.Getuid() != 0 {
		b.Skip("network namespaces are made by root")
	}
	n := &namespaces{
		names: [2]string{fmt.Sprintf("psbench-%d-a", os.Getpid()), fmt.Sprintf("psbench-%d-b", os.Getpid())},
	}
	for _, name := range n.names {
		command(b, "ip netns add "+name)
		b.Cleanup(func() { command(b, "ip netns del "+name) })
		command(b, fmt.Sprintf("ip -n %s link set lo up", name))
	}
	if l.delay > 0 {
		n.delay(b, l)
	} else {
		n.shape(b, l.gbit)
	}
	var err error
	if n.launcher, err = launch.New(patience, launch.Output{}); err != nil {
		b.Fatal(err)
	}
	return n
}

// shape makes the kernel limit the line to the given rate in each direction.
func (n *namespaces) shape(b *testing.B, gbit int) {
	b.Helper()
	command(b, fmt.Sprintf("ip -n %s link add wire type veth peer name wire netns %s", n.names[0], n.names[1]))
	for end, at := range n.names {
		command(b, fmt.Sprintf("ip -n %s addr add %s/24 dev wire", at, ips[end]))
		command(b, fmt.Sprintf("ip -n %s link set wire up", at))
		if gbit > 0 { // a burst takes 2 ms at the given rate
			command(b, fmt.Sprintf("tc -n %s qdisc add dev wire root tbf rate %dgbit burst %dk latency 20ms", at, gbit,
				max(256, 250*gbit)))
		}
	}
}

// delay connects the namespaces through the program wire, because not every kernel can delay packets. The packets are
// large, since the program forwards each one itself. The queue of the program holds 20 ms of packets.
func (n *namespaces) delay(b *testing.B, l line) {
	b.Helper()
	const mtu, room = 9000, 20 * time.Millisecond
	path := filepath.Join(b.TempDir(), "wire")
	command(b, "go build -o "+path+" ../../bench/cluster/wire")
	rate := float64(l.gbit) * 1e9
	waiting := int(rate / 8 * (room + l.delay).Seconds() / mtu)
	wire := exec.Command(path, "-delay", l.delay.String(), "-rate", fmt.Sprint(rate), "-mtu", fmt.Sprint(mtu), "-queue",
		fmt.Sprint(waiting), n.names[0]+"="+ips[0], n.names[1]+"="+ips[1])
	wire.Stderr = os.Stderr
	said, err := wire.StdoutPipe()
	if err == nil {
		err = wire.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = wire.Process.Kill()
		_ = wire.Wait() // the process was killed
	})
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		b.Fatalf("the wire says %q: %v", line, err)
	}
}

func command(b *testing.B, line string) {
	b.Helper()
	words := strings.Fields(line)
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		b.Fatalf("%s: %v: %s", line, err, out)
	}
}

// of returns the index of a process's namespace.
func (n *namespaces) of(process string) int {
	if strings.HasPrefix(process, "trainer0.") { // each transport has its own processes
		return 0
	}
	return 1
}

// Site implements cluster.Starter. Memory and folder belong to a single host.
func (n *namespaces) Site(process string) cluster.Site {
	return cluster.Site{Host: cluster.CoreHost, Directory: n.launcher.Directory(), Listen: ips[n.of(process)], Cores: 2}
}

// Start implements cluster.Starter.
func (n *namespaces) Start(ctx context.Context, spec launch.Spec) (cluster.Process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	spec.Plugin.Command = []string{"nsenter", "--net=/run/netns/" + n.names[n.of(spec.Name)], exe,
		launch.BuiltinArgument, spec.Name}
	p, err := n.launcher.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	return sited{p, n.Site(spec.Name)}, nil
}

// Close implements cluster.Starter.
func (n *namespaces) Close(gently bool) error { return n.launcher.Close(gently) }

// BenchmarkNamespaces compares tcp with bare sockets, with and without TLS, over lines of several bandwidths and
// delays. It reports the median latencies of alternating measurements. It also reports tcp's share of the rate of
// bare sockets. The flag -count repeats the benchmark, so the spread shows the noise of the machine.
func BenchmarkNamespaces(b *testing.B) {
	if os.Getenv(besideBare) == "" {
		b.Skip(besideBare + "=1 adds the bare sockets to compare with")
	}
	for _, l := range []line{{gbit: 1}, {1, 100 * time.Microsecond}, {1, 2 * time.Millisecond}, {gbit: 10}, {gbit: 25},
		{}} {
		for _, insecure := range []bool{true, false} {
			transports := []string{"tcp", "bare"}
			if !insecure {
				transports[1] = "baretls"
			}
			for _, o := range []*bench.Operation{bench.PushPull, bench.AllReduce} {
				b.Run(fmt.Sprintf("Gbit=%d/delay=%v/TLS=%t/%s", l.gbit, l.delay, !insecure, o.Name),
					func(b *testing.B) {
						rows := between(b, l, insecure, transports, o)
						for size := range 3 {
							ours, bare := rows[2*size], rows[2*size+1]
							if ours.Mismatch != "" {
								b.Errorf("%s of %d bytes: %s", ours.Transport, ours.Bytes, ours.Mismatch)
							}
							name := fmt.Sprintf("-of-%dKiB", ours.Bytes>>10)
							b.ReportMetric(ours.P50US, "us"+name)
							b.ReportMetric(100*bare.P50US/ours.P50US, "%"+name)
						}
					})
			}
		}
	}
}

// between measures one operation over a line.
func between(b *testing.B, l line, insecure bool, transports []string, o *bench.Operation) []*micro.Row {
	b.Helper()
	n := newNamespaces(b, l)
	p := &micro.Plan{
		Operations: []*bench.Operation{o}, Modes: []micro.Mode{micro.Fresh}, Places: []micro.Place{micro.InPlace},
		Sizes: []int{4 << 10, 1 << 20, 8 << 20}, Width: 4, Density: 1, Expect: micro.Any, HookExpect: micro.Any,
		World: config.World{Trainers: 1, Servers: 1}, Seconds: 0.3, Repeat: 3, Timeout: patience,
		InsecureNetwork: insecure,
	}
	for _, name := range transports {
		f, err := fabric.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		p.Fabrics = append(p.Fabrics, f)
	}
	if o == bench.AllReduce {
		p.World = config.World{Trainers: 2}
	}
	e := resolved(b, "--ntrainer", fmt.Sprint(p.World.Trainers))
	p.Server, p.Hook = e.Parts[sdk.KindServer], e.Parts[sdk.KindHook]
	if err := p.Check(); err != nil {
		b.Fatal(err)
	}
	open := func(*placement.Layout, time.Duration, launch.Output) (cluster.Starter, error) { return n, nil }
	res, err := micro.Run(context.Background(), p,
		micro.Options{Options: cluster.Options{Open: open}, Progress: micro.Silent})
	if err != nil {
		b.Fatal(err)
	}
	return res.Rows
}
