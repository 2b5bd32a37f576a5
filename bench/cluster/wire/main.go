// Wire is a network between network namespaces, for kernels that cannot delay packets. Each argument NS=IP creates
// a TUN device in that namespace. Wire routes packets by their destination. While it runs, it reads commands from
// the file -control:
//
//	cut IP         drop all packets to and from IP
//	heal IP        drop no packets of IP
//	lose IP 0.01   drop that share of the packets from IP
package main

import (
	"bufio"
	"encoding/binary"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

var (
	delay   = flag.Duration("delay", 0, "one-way delay")
	rate    = flag.Float64("rate", 0, "bits per second that leave each node, 0 for no limit")
	queue   = flag.Int("queue", 10000, "packets that may wait for a node")
	mtu     = flag.Int("mtu", 1500, "bytes of a packet")
	control = flag.String("control", "", "file that commands are read from, a FIFO")
)

// packet is a packet in flight.
type packet struct {
	due  time.Time
	data []byte
}

// port is a node's end of the wire.
type port struct {
	fd   int
	in   chan packet
	cut  atomic.Bool
	loss atomic.Uint64 // share of its sent packets to drop, as the bits of a float64
}

func main() {
	flag.Parse()
	ports := map[netip.Addr]*port{}
	for _, argument := range flag.Args() {
		namespace, ip, _ := strings.Cut(argument, "=")
		at, err := netip.ParseAddr(ip)
		if err != nil {
			log.Fatal(err)
		}
		p := &port{fd: tun(namespace), in: make(chan packet, *queue)}
		run("ip", "-n", namespace, "link", "set", "eth0", "mtu", strconv.Itoa(*mtu), "txqueuelen", "1000", "up")
		run("ip", "-n", namespace, "addr", "add", ip+"/24", "dev", "eth0")
		ports[at] = p
	}
	for _, p := range ports {
		go p.send(ports)
		go p.receive()
	}
	fmt.Println("ready")
	for { // writers of a FIFO come and go
		if err := obey(*control, ports); err != nil {
			log.Print(err)
		}
	}
}

// tun opens a TUN device called eth0 in a namespace.
func tun(namespace string) int {
	made := make(chan int)
	go func() {
		runtime.LockOSThread()                       // never unlocked: the thread ends with the goroutine
		f, err := os.Open("/run/netns/" + namespace) // #nosec G304 -- who starts the wire names it
		if err == nil {
			err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
		}
		if err != nil {
			log.Fatalf("namespace %s: %v", namespace, err)
		}
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR, 0)
		if err != nil {
			log.Fatalf("/dev/net/tun: %v", err)
		}
		var request [40]byte
		copy(request[:], "eth0")
		binary.LittleEndian.PutUint16(request[16:], unix.IFF_TUN|unix.IFF_NO_PI)
		if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TUNSETIFF, uintptr(unsafe.Pointer(&request[0]))); e != 0 { // #nosec G103 -- the kernel takes its address
			log.Fatalf("no device in namespace %s: %v", namespace, e)
		}
		made <- fd
	}()
	return <-made
}

func run(name string, args ...string) {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil { // #nosec G204 -- of this program's own making
		log.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
}

// send reads a node's packets, adds their due time and routes them.
func (p *port) send(ports map[netip.Addr]*port) {
	runtime.LockOSThread()
	buffer, free := make([]byte, 1<<16), time.Now()
	for {
		n, err := unix.Read(p.fd, buffer)
		if err != nil {
			log.Fatal(err)
		}
		if n < 20 || buffer[0]>>4 != 4 {
			continue
		}
		to := ports[netip.AddrFrom4([4]byte(buffer[16:20]))]
		loss := math.Float64frombits(p.loss.Load())
		if to == nil || p.cut.Load() || to.cut.Load() || loss > 0 && rand.Float64() < loss { // #nosec G404 -- which packets are lost is no secret
			continue
		}
		leaves := time.Now()
		if *rate > 0 {
			if free.Before(leaves) {
				free = leaves
			}
			free = free.Add(time.Duration(float64(n) * 8e9 / *rate))
			leaves = free
		}
		select {
		case to.in <- packet{leaves.Add(*delay), append([]byte(nil), buffer[:n]...)}:
		default: // the queue is full
		}
	}
}

// receive delivers packets to a node when they are due. On an idle process, Go's timers round to a millisecond;
// nanosleep is precise to some 60 µs.
func (p *port) receive() {
	runtime.LockOSThread()
	for packet := range p.in {
		if wait := time.Until(packet.due); wait > 20*time.Microsecond {
			pause := unix.NsecToTimespec(int64(wait))
			_ = unix.Nanosleep(&pause, nil)
		}
		_, _ = unix.Write(p.fd, packet.data)
	}
}

// obey executes the commands of one writer of the file.
func obey(path string, ports map[netip.Addr]*port) error {
	if path == "" {
		select {}
	}
	f, err := os.Open(path) // #nosec G304 -- who starts the wire names it
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 2 {
			return fmt.Errorf("%q is no command", lines.Text())
		}
		ip, err := netip.ParseAddr(words[1])
		p := ports[ip]
		if err != nil || p == nil {
			return fmt.Errorf("%q names no node", lines.Text())
		}
		switch words[0] {
		case "cut":
			p.cut.Store(true)
		case "heal":
			p.cut.Store(false)
			p.loss.Store(0)
		case "lose":
			share, err := strconv.ParseFloat(words[len(words)-1], 64)
			if err != nil {
				return fmt.Errorf("%q: %w", lines.Text(), err)
			}
			p.loss.Store(math.Float64bits(share))
		default:
			return fmt.Errorf("%q is no command", lines.Text())
		}
	}
	return nil
}
