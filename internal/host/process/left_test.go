package process

import (
	"testing"

	"github.com/psbench/psbench/internal/stack"
)

// Goroutines that a part started, or runs on, belong to the part. So do goroutines that a library
// starts in a part's call. Goroutines that psbench or Go started, or that existed earlier, do not
// belong to the part.
func TestGoroutinesThatAreLeft(t *testing.T) {
	of := func(mark string) string { return ` labels:{"for": "` + mark + `"}` }
	for name, c := range map[string]struct{ text, want string }{
		"what ran before": {`goroutine 1 [running]:
main.main()
	/home/u/median/main.go:12 +0x1
`, ""},
		"a part, twice": {`goroutine 7 [sleep, 2 minutes]:
time.Sleep(0x34630b8a000)
	/usr/local/go/src/runtime/time.go:338 +0x165
main.(*server).watch.func1()
	/home/u/median/main.go:41 +0x1d
created by main.(*server).watch in goroutine 12
	/home/u/median/main.go:40 +0x45

goroutine 8 [sleep` + of("part") + `]:
main.(*server).watch.func1()
	/home/u/median/main.go:41 +0x1d
created by main.(*server).watch in goroutine 12
	/home/u/median/main.go:40 +0x45
`, "2 goroutines in main.(*server).watch.func1 (main.go:41), started by main.(*server).watch (main.go:40)"},
		"a part, by a timer": {`goroutine 9 [sleep]:
main.late()
	/home/u/median/main.go:41 +0x1d
created by time.goFunc
	/usr/local/go/src/time/sleep.go:215 +0x2d
`, "1 goroutine in main.late (main.go:41)"},
		"a library that a part called": {`goroutine 9 [select` + of("part") + `]:
example.org/pool.(*Pool).work(0xc000, {0x1, 0x2})
	/root/go/pkg/mod/example.org/pool@v1.0.0/pool.go:3 +0x1
created by sync.(*WaitGroup).Go in goroutine 12
	/usr/local/go/src/sync/waitgroup.go:239 +0x73
`, "1 goroutine in pool.(*Pool).work (pool.go:3), started by sync.(*WaitGroup).Go (waitgroup.go:239)"},
		"Go's own library that a part called": {`goroutine 10 [IO wait` + of("part") + `]:
internal/poll.runtime_pollWait(0x1)
	runtime/netpoll.go:351 +0x85
net/http.(*conn).serve(0xc000)
	net/http/server.go:2000 +0x1
created by net/http.(*Server).Serve in goroutine 12
	net/http/server.go:3000 +0x1
`, "1 goroutine in http.(*conn).serve (server.go:2000), started by http.(*Server).Serve (server.go:3000)"},
		"what a built-in part started": {`goroutine 10 [IO wait]:
net/http.(*conn).serve(0xc000)
	/usr/local/go/src/net/http/server.go:2000 +0x1
created by github.com/psbench/psbench/plugins/data.(*file).serve in goroutine 12
	/x/plugins/data/file.go:9 +0x1
`, "1 goroutine in http.(*conn).serve (server.go:2000), started by data.(*file).serve (file.go:9)"},
		"gRPC that a part called": {`goroutine 13 [IO wait` + of("part") + `]:
golang.org/x/net/http2.readFrameHeader({0xc0, 0x9, 0x9})
	/root/go/pkg/mod/golang.org/x/net@v0.60.0/http2/frame.go:250 +0x85
google.golang.org/grpc/internal/transport.(*http2Client).reader(0xc0)
	/root/go/pkg/mod/google.golang.org/grpc@v1.85.0/internal/transport/http2_client.go:1700 +0x1
created by google.golang.org/grpc/internal/transport.NewHTTP2Client in goroutine 12
	/root/go/pkg/mod/google.golang.org/grpc@v1.85.0/internal/transport/http2_client.go:400 +0x1
`,
			"1 goroutine in transport.(*http2Client).reader (http2_client.go:1700), started by transport.NewHTTP2Client (http2_client.go:400)"},
		"gRPC that psbench called": {`goroutine 13 [IO wait` + of("psbench") + `]:
golang.org/x/net/http2.readFrameHeader({0xc0, 0x9, 0x9})
	/root/go/pkg/mod/golang.org/x/net@v0.60.0/http2/frame.go:250 +0x85
google.golang.org/grpc/internal/transport.(*http2Client).reader(0xc0)
	/root/go/pkg/mod/google.golang.org/grpc@v1.85.0/internal/transport/http2_client.go:1700 +0x1
created by google.golang.org/grpc/internal/transport.NewHTTP2Client in goroutine 12
	/root/go/pkg/mod/google.golang.org/grpc@v1.85.0/internal/transport/http2_client.go:400 +0x1
`, ""},
		"a library of nobody": {`goroutine 13 [IO wait]:
example.org/clock.tick()
	/root/go/pkg/mod/example.org/clock@v1.0.0/clock.go:3 +0x1
created by time.goFunc
	/usr/local/go/src/time/sleep.go:215 +0x2d
`, ""},
		"psbench in a part's call": {`goroutine 11 [select` + of("part") + `]:
golang.org/x/net/http2.readFrameHeader({0xc0, 0x9, 0x9})
	/root/go/pkg/mod/golang.org/x/net@v0.60.0/http2/frame.go:250 +0x85
github.com/psbench/psbench/internal/host/process.(*ending).rest(...)
	/x/sdk/host/process/ending.go:9
sync.(*WaitGroup).Go.func1()
	/usr/local/go/src/sync/waitgroup.go:239 +0x73
created by sync.(*WaitGroup).Go in goroutine 3
	/usr/local/go/src/sync/waitgroup.go:237 +0x73
`, ""},
		"what Go has one of": {`goroutine 14 [select` + of("part") + `]:
os/signal.signal_recv()
	/usr/local/go/src/runtime/sigqueue.go:152 +0x98
os/signal.loop()
	/usr/local/go/src/os/signal/signal_unix.go:23 +0x13
created by os/signal.Notify.func1.1 in goroutine 12
	/usr/local/go/src/os/signal/signal.go:152 +0x1f

goroutine 15 [finalizer wait` + of("part") + `]:
runtime.runFinalizers()
	/usr/local/go/src/runtime/mfinal.go:210 +0x107
created by runtime.createfing in goroutine 12
	/usr/local/go/src/runtime/mfinal.go:172 +0x3d
`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := listLeft(leftOf(stack.Parse(c.text), map[string]bool{"1": true})); got != c.want {
				t.Errorf("left are\n%s, want\n%s", got, c.want)
			}
		})
	}
	if got := listLeft(map[string]int{"a": 1, "b": 1, "c": 1, "d": 1,
		"e": 2}); got != "2 goroutines e; 1 goroutine a; 1 goroutine b; 2 goroutines elsewhere" {
		t.Errorf("of five places it lists %s", got)
	}
	before := running() // includes main
	if left := leftOf(stack.All(), before); len(before) == 0 || len(left) > 0 {
		t.Errorf("of %d goroutines %v are a part's", len(before), left)
	}
}
