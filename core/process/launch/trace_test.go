package launch

import (
	"strings"
	"testing"
)

func TestTrace(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing": {"all is well\nit said panic: no\n", ""},
		"a plugin": {`panic: boom

goroutine 35 [running]:
panic({0x1?, 0x2?})
	/usr/local/go/src/runtime/panic.go:787 +0x132
encoding/json.Unmarshal({0x1, 0x2}, {0x3, 0x4})
	/usr/local/go/src/encoding/json/decode.go:100 +0x20
main.(*median).Receive(0xc0001, {0x1, 0x2, 0x3})
	/home/u/median/main.go:41 +0x1d
mine-plugin/sub.Sort(...)
	/home/u/median/sub/sort.go:7
example.org/x.F[...](0x3)
	/root/go/pkg/mod/example.org/x@v1.0.0/x.go:3 +0x1
main.more(...)
	/home/u/median/main.go:50
github.com/psbench/psbench/sdk.(*serverRole).receive(0xc)
	/home/u/psbench/sdk/role_server.go:1 +0x1
main.main()
	/home/u/median/main.go:12 +0x1

goroutine 1 [select]:
main.other()
	/home/u/median/main.go:99 +0x1
`, "panic: boom, in main.(*median).Receive (main.go:41), sub.Sort (sort.go:7), x.F[...] (x.go:3)"},
		"a built-in part, trimmed": {`panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x5]

goroutine 7 [running]:
runtime.panicmem(...)
	runtime/panic.go:262
github.com/psbench/psbench/plugins/servers.(*average).Reset(0x0)
	github.com/psbench/psbench/plugins/servers/average.go:9 +0x1
`,
			"panic: runtime error: invalid memory address or nil pointer dereference (SIGSEGV: segmentation violation), in servers.(*average).Reset (average.go:9)"},
		"psbench itself": {`panic: boom
goroutine 7 [running]:
github.com/psbench/psbench/sdk.f()
	/x/sdk/f.go:9 +0x1
google.golang.org/grpc.g()
	/x/grpc/g.go:9 +0x1
`, "panic: boom, in sdk.f (f.go:9), grpc.g (g.go:9)"},
		"no thread": {`runtime: failed to create new OS thread (have 5 already; errno=11)
runtime: may need to increase max user processes (ulimit -u)
fatal error: newosproc
`, "runtime: failed to create new OS thread (have 5 already; errno=11)"},
		"a signal": {
			"SIGABRT: abort\nPC=0x1 m=0 sigcode=0\n\ngoroutine 1 [running]:\nmain.f()\n\t/x/main.go:1 +0x1\n\nrax 0x1\n",
			"SIGABRT: abort, in main.f (main.go:1)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got trace
			for line := range strings.Lines(c.text) {
				got.add(strings.TrimSuffix(line, "\n"))
			}
			if got.String() != c.want {
				t.Errorf("it says %q, want %q", got.String(), c.want)
			}
		})
	}
}
