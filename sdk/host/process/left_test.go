package process

import (
	"testing"

	"github.com/psbench/psbench/internal/stack"
)

// What a part started, or runs on, counts as its own; what psbench, Go or an earlier time started
// does not.
func TestGoroutinesThatAreLeft(t *testing.T) {
	text := `goroutine 1 [running]:
main.main()
	/home/u/median/main.go:12 +0x1

goroutine 7 [sleep, 2 minutes]:
time.Sleep(0x34630b8a000)
	/usr/local/go/src/runtime/time.go:338 +0x165
main.(*server).watch.func1()
	/home/u/median/main.go:41 +0x1d
created by main.(*server).watch in goroutine 12
	/home/u/median/main.go:40 +0x45

goroutine 8 [sleep]:
main.(*server).watch.func1()
	/home/u/median/main.go:41 +0x1d
created by main.(*server).watch in goroutine 12
	/home/u/median/main.go:40 +0x45

goroutine 9 [select]:
example.org/pool.(*Pool).work(0xc000, {0x1, 0x2})
	/root/go/pkg/mod/example.org/pool@v1.0.0/pool.go:3 +0x1
created by sync.(*WaitGroup).Go in goroutine 12
	/usr/local/go/src/sync/waitgroup.go:239 +0x73

goroutine 10 [IO wait]:
net/http.(*conn).serve(0xc000)
	/usr/local/go/src/net/http/server.go:2000 +0x1
created by github.com/psbench/psbench/plugins/data.(*file).serve in goroutine 12
	/x/plugins/data/file.go:9 +0x1

goroutine 11 [select]:
github.com/psbench/psbench/sdk/host/process.(*ending).rest(...)
	/x/sdk/host/process/ending.go:9
created by google.golang.org/grpc.(*Server).serveStreams.func2.1 in goroutine 3
	/x/grpc/server.go:9 +0x1
`
	got := listLeft(leftOf(stack.Parse(text), map[string]bool{"1": true}))
	want := "2 goroutines in main.(*server).watch.func1 (main.go:41), started by main.(*server).watch (main.go:40); " +
		"1 goroutine in http.(*conn).serve (server.go:2000), started by data.(*file).serve (file.go:9); " +
		"1 goroutine in pool.(*Pool).work (pool.go:3)"
	if got != want {
		t.Errorf("left are\n%s, want\n%s", got, want)
	}
	if got := listLeft(map[string]int{"a": 1, "b": 1, "c": 1, "d": 1, "e": 2}); got != "2 goroutines e; 1 goroutine a; 1 goroutine b; 2 goroutines elsewhere" {
		t.Errorf("of five places it lists %s", got)
	}
	before := running() // main among them
	if left := leftOf(stack.Parse(stacks()), before); len(before) == 0 || len(left) > 0 {
		t.Errorf("of %d goroutines %v are a part's", len(before), left)
	}
}
