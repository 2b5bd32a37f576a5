//go:build nvidia

package mutants

import (
	"fmt"
	"regexp"
	"strings"
)

// mutant is a change that tests must detect. The text that it replaces occurs once in the file.
type mutant struct {
	what     string // what the change removes
	file     string // path from the root of the repository
	old, new string
	packages string // packages of cuda that have the tests
	tests    string // tests that may fail, as a pattern for -run
}

const (
	never  = "if err := error(nil); err != nil {" // replaces a checked call
	copies = "CopyOut|CopyIn|Steps|Tickets|FreeWaits|Transfers|Optimizers|Allocate|Adopt|Measured"
	means  = "Means|Pushes|Tables"
	shares = "RunsShareBuckets"
	params = "RunsShareParameters"
	spans  = "RunsOverNCCL"
	broken = "NCCLThatDoesNotWork"
)

const (
	directionFile = "cuda/compute/device/direction.go"
	deviceFile    = "cuda/compute/device/device.go"
	transferFile  = "cuda/compute/device/transfer.go"
	clockFile     = "cuda/compute/device/clock.go"
	phasesFile    = "cuda/compute/device/phases.go"
	timerFile     = "cuda/compute/device/timer.go"
	averageFile   = "cuda/compute/servers/average.go"
	meanFile      = "cuda/compute/servers/mean.go"
	reportsFile   = "plugins/servers/means.go"
	heldFile      = "plugins/servers/held.go"
	updateFile    = "plugins/servers/batch_update.go"
	stagingFile   = "sdk/dataparallel/staging.go"
	shareFile     = "cuda/compute/device/share.go"
	loanFile      = "cuda/compute/device/loan.go"
	sumFile       = "cuda/compute/device/sum.go"
	modelsFile    = "cuda/compute/models/models.go"
	spannedFile   = "cuda/compute/device/spanned.go"
	acrossFile    = "cuda/compute/device/across.go"
	ncclFile      = "cuda/library/nccl.go"
	groupFile     = "internal/comm/shared/group/group.go"
	lentFile      = "internal/comm/shared/group/lent.go"
)

// handmade are mutants of the engine, of its parts, and of arguments of the driver's functions.
var handmade = []mutant{
	{"a copy out waits for compute", directionFile, "if c == &d.out || !d.out.free(memory) {",
		"if c == &d.in && !d.out.free(memory) {", "compute/device", copies},
	{"a copy in waits for compute", directionFile, "if c == &d.out || !d.out.free(memory) {", "if c == &d.out {",
		"compute/device", copies},
	{"but not one to a gradient that has come out", directionFile, "if c == &d.out || !d.out.free(memory) {",
		"if c != nil {", "compute/device", copies},
	{"of a copy that was asked for since Compute was called last", directionFile,
		" && last.began == c.device.began.Load()", "", "compute/device", copies},
	{"that has ended", directionFile, " && last.number <= c.over.Load()", "", "compute/device", copies},
	{"only as much as came out", directionFile, " && len(memory) <= last.bytes", "", "compute/device", copies},
	{"the event that copies wait for is recorded", directionFile,
		"if err := c.given.Record(d.compute.Stream); err != nil {", never, "compute/device", copies},
	{"its stream is told to wait for it", directionFile, "if err := c.stream.Wait(c.given); err != nil {", never,
		"compute/device", copies},
	{"an event is recorded behind a copy", directionFile, "return c.ended[c.asked%inFlight].Record(c.stream)",
		"return nil", "compute/device", copies},
	{"Wait waits for that", directionFile, "if err := c.ended[number%inFlight].Synchronize(); err != nil {", never,
		"compute/device", copies},
	{"a copy by way of other memory waits for the one whose place it takes", directionFile,
		"if err := c.settle(b.number - inFlight); err != nil {", never, "compute/device", "Pinned|Refused"},
	{"Room waits for a transfer's last copy", transferFile, "if err := t.ended.Synchronize(); err != nil {", never,
		"compute/device", copies},
	{"Send records its event", transferFile, "return elements[T](t.memory, n), t.ended.Record(t.lane.Stream)",
		"return elements[T](t.memory, n), nil", "compute/device", copies},
	{"Fetch records its event", transferFile, "if err := t.ended.Record(t.lane.Stream); err != nil {", never,
		"compute/device", copies},
	{"Fetch waits for it", transferFile, "return host, t.ended.Synchronize()", "return host, nil", "compute/device",
		copies},
	{"Alloc waits until memory is clear", deviceFile, "return s.Synchronize()", "return nil", "compute/device",
		copies + "|Memory"},
	{"Alloc clears memory", deviceFile, "if err := s.Clear(p, n); err != nil {", never, "compute/device",
		copies + "|Memory"},
	{"Free waits for all streams", deviceFile, "_ = d.drain() ", "_ = d ", "compute/device", copies},
	{"Close waits for all streams", deviceFile, "func (d *Device) Close() error {\n\terr := d.drain()",
		"func (d *Device) Close() error {\n\terr := error(nil)", "compute/device compute/models compute/servers", ""},
	{"memory is pinned until its copies have ended", "cuda/compute/device/adopt.go",
		"err := d.drain()\n\td.mu.Lock()\n\ti :=", "err := error(nil)\n\td.mu.Lock()\n\ti :=",
		"compute/device compute/servers", copies + "|" + means},
	{"all streams are those of lanes too", deviceFile, "err = cmp.Or(err, l.Stream.Synchronize())", "_ = l",
		"compute/device", copies},
	{"all streams are those of copies too", deviceFile, "err = cmp.Or(err, c.stream.Synchronize())", "_ = c",
		"compute/device compute/servers", copies + "|" + means},
	{"Compute is counted", deviceFile, "d.began.Add(1)", "", "compute/device compute/models", copies + "|Passes"},
	{"a step of an optimizer calls Compute", "cuda/compute/device/optimizer.go",
		"q := p.device.Compute().Queue\n\tif err", "q := p.device.compute.Queue\n\tif err", "compute/device", copies},
	{"Forward calls Compute", modelsFile, "b.lane = b.dev.Compute()\n\tswitch", "switch", "compute/models", "Passes"},
	{"Backward calls Compute", modelsFile, "b.lane = b.dev.Compute()\n\tif !forward", "if !forward", "compute/models",
		"Passes"},
	{"the clock's first event is waited for", clockFile, "if err := c.tried.Synchronize(); err != nil {", never,
		"compute/device", "Measured"},
	{"the clock's first event is recorded", clockFile, "if err := c.tried.Record(c.lane.Stream); err != nil {", never,
		"compute/device", "Measured"},
	{"a span is read once it has ended", phasesFile, "if over, err := s.end.Query(); err != nil || !over {",
		"if err := error(nil); err != nil {", "compute/device", "Measured"},
	{"so is a copy", timerFile, "if over, err := p.end.Query(); err != nil || !over {",
		"if err := error(nil); err != nil {", "compute/device", "Measured"},
	{"a copy of an earlier pass is forgotten", timerFile, "if p.pass != t.clock.passes.Load() {", "if false {",
		"compute/device", "Measured"},
	{"means wait for the copies in", meanFile, "return s.lane.Stream.Wait(s.copied)", "return nil", "compute/servers",
		means},
	{"the event of these is recorded", meanFile, "if err := s.copied.Record(s.in.Stream); err != nil {", never,
		"compute/servers", means},
	{"answers wait for the means", averageFile, "if err := b.done.Synchronize(); err != nil {", never,
		"compute/servers", means},
	{"the event of these is recorded too", meanFile, "return b.done.Record(s.lane.Stream)", "return nil",
		"compute/servers", means},
	{"means of reports wait for the copies in", reportsFile,
		"s := m.stages[t]; s != nil {\n\t\t\tif err := m.engine.Wait(s.copied); err != nil {",
		"s := m.stages[t]; s != nil {\n\t\t\t" + never, "compute/servers", "Updates"},
	{"a report is written where none is on its way", reportsFile,
		"if err := m.engine.Wait(s.copied); err != nil { // of", never + " // of", "../plugins/servers", "ReportsWait"},
	{"parameters are copied out before they are answered", heldFile, "err := h.engine.Wait(last)",
		"_ = last\n\terr := error(nil)", "compute/servers", "Updates"},
	{"a table has waited for its last update", "cuda/compute/servers/embedding.go",
		"if e.dev.Compute().Stream.Synchronize() == nil {", "if true {", "compute/servers", means},
	{"Give marks a bucket that is handed over", shareFile, "return e.given[bucket].Record(e.device.compute.Stream)",
		"return nil", "compute", shares},
	{"Loan.Take waits for that mark", loanFile, "return lane.Stream.Wait(l.peer.given[l.bucket])", "return nil",
		"compute", shares},
	{"Loan.Return marks that the mean is there", loanFile, "return l.end.done[l.bucket].Record(lane.Stream)",
		"return nil", "compute", shares},
	{"a round waits for the gradients that trainers share", reportsFile, "return values, loan.Take()",
		"return values, nil", "compute", params},
	{"parameters are marked that trainers find in their buckets", heldFile, "if err := loan.Return(); err != nil {",
		never, "compute", params},
	{"who fetches them has done with its buckets", updateFile, "if err := loan.Take(); err != nil { // the",
		never + " // the", "../plugins/servers", "TrainersShare"},
	{"AwaitShared waits for the marks of peers", shareFile, "if err := s.Wait(p.done[b]); err != nil {",
		"if err := error(nil); p == nil {", "compute", shares},
	{"AwaitShared marks the end of its own sums", shareFile, "e.caught.Record(e.lane.Stream), ", "", "compute", shares},
	{"AwaitShared waits for that mark", shareFile, ", s.Wait(e.caught)", "", "compute", shares},
	{"a sum waits for the marks of peers", sumFile, "if err := e.lane.Stream.Wait(p.given[bucket]); err != nil {",
		"if err := error(nil); p == nil {", "compute", shares},
	{"a sum waits for that of its own rank", sumFile, "if err := e.lane.Stream.Wait(e.given[bucket]); err != nil {",
		never, "compute", shares},
	{"a sum marks its end", sumFile, "return e.done[bucket].Record(e.lane.Stream)", "return nil", "compute", shares},
	{"TakeRows waits for the sums of peers", sumFile, "if err := e.lane.Stream.Wait(p.done[bucket]); err != nil {",
		"if err := error(nil); p == nil {", "compute", shares},
	{"who closes what it has opened waits for its work there", shareFile, "err := e.device.drain()",
		"err := error(nil)", "compute/device", "EndsClose"},
	{"an owner waits until peers have closed its buckets", "internal/comm/shared/lent/lent.go",
		"!l.Look(func() { names = missing() }) || len(names) == 0", "true",
		"../internal/comm/shared/serverlink ../internal/comm/shared/group", "OwnersWait"},
	{"TakeRows comes once all have summed", lentFile, "if err := g.await(s, allHalved); err != nil {", never,
		"../internal/comm/shared/group", "RowsAreTaken"},
	{"who sums a bucket waits until all have posted it", lentFile,
		"func (g *group) sumOnDevice(s *step) error {\n\tif err := g.waitPosted(s); err != nil {",
		"func (g *group) sumOnDevice(s *step) error {\n\t" + never, "../internal/comm/shared/group",
		"GroupsOfLentBuckets"},
	{"and ends when all have summed it", lentFile, "return g.endTogether(s)\n}\n\n// partsOnDevice",
		"g.end(s)\n\treturn nil\n}\n\n// partsOnDevice", "compute", shares},
	{"a backward pass waits for shared buckets", "sdk/dataparallel/reducer.go", "err = r.parts.AwaitShared()",
		"err = nil", "compute", shares},
	{"a bucket is reduced once it has come out", stagingFile, "s.waitCopy(s.copied[bucket])", "error(nil)",
		"../sdk/dataparallel", "StagedGradients"},
	{"a pass ends once all have come out", stagingFile,
		"if err := s.waitCopy(s.last); err != nil && s.reduceFailed == nil {",
		"if err := error(nil); err != nil && s.reduceFailed == nil {", "../sdk/dataparallel", "FailsInTheMiddle"},
	{"a bucket is done once it has come in", stagingFile, "if err := s.waitCopy(last); err != nil {",
		"_ = last\n\t" + never, "../sdk/dataparallel", "StagedGradients"},
	{"an all-reduce waits for the bucket", spannedFile,
		"if err := e.take(bucket); err != nil {\n\t\treturn err\n\t}\n\treturn", "return", "compute", spans},
	{"so does one of rows", spannedFile, "if err := e.take(bucket); err != nil {\n\t\treturn err\n\t}\n\tq,", "q,",
		"compute", spans},
	{"an all-reduce is on its stream before it is marked", ncclFile,
		"result, err := c.settle(result, deadline)\n\tif result != 0 {\n\t\treturn",
		"err := error(nil)\n\tif result != 0 && result != C.PSB_IN_PROGRESS {\n\t\treturn", "compute", spans},
	{"who joins NCCL waits for the others", ncclFile, "result, err := comm.settle(result, deadline)",
		"err := error(nil)\n\tresult = 0", "compute", spans},
	{"who leaves NCCL waits for the others", ncclFile,
		"result, err := c.settle(result, deadline)\n\tif result != 0 {\n\t\terr",
		"err := error(nil)\n\tif false {\n\t\terr", "compute", spans},
	{"groups take turns at NCCL", acrossFile, "for a.taken+1 != turn && a.failed == nil {", "for false {",
		"compute/device", "Turns"},
	{"so does who takes rows", spannedFile, "\te.across.turn.Lock()\n\tdefer e.across.turn.Unlock()\n", "",
		"compute/device", "TakeRows"},
	{"who waits for a turn is told of a failure", acrossFile, "\terr = a.failed\n\ta.moved.Broadcast()",
		"\terr = a.failed", "compute/device", "Turns"},
	{"who closes a group waits for the goroutine that looks after it", spannedFile, "e.watching.Wait()", "",
		"compute/device", "WaitsForTheWatch"},
	{"who is told of a failure waits until all is aborted", acrossFile, "aborted.Wait()", "", "compute/device",
		"HaveAborted"},
	{"work of NCCL that failed is noticed", spannedFile, "err := e.comm.Err()", "err := error(nil)", "compute", broken},
	{"so is work that hangs", spannedFile, "err = e.overdue()", "err = nil", "compute", broken},
	{"an all-reduce is marked for that", spannedFile, "if err := e.mark(bucket); err != nil {", never, "compute",
		broken},
	{"what hangs is aborted", acrossFile, "_ = e.comm.Abort() }) // what", "_ = e.comm }) // what", "compute", broken},
	{"a group that fails aborts what devices do for it", groupFile, "if g.Fail(err) {\n\t\tg.lent.Abort()",
		"if g.Fail(err) {", "../internal/comm/shared/group", "AreAborted"},
	{"so does one that is closed", groupFile, "if !orderly {\n\t\tg.lent.Abort()", "if !orderly {",
		"../internal/comm/shared/group", "AreAborted"},
	{"streams do not wait for the default one", "cuda/driver/stream.go", "cu.MakeStream(cu.NonBlocking)",
		"cu.MakeStream(cu.DefaultStream)", "driver", ""},
	{"a call stays on the thread whose context it set", "cuda/driver/context.go",
		"\truntime.LockOSThread()\n\tdefer runtime.UnlockOSThread()", "\tdefer runtime.KeepAlive(c)", "driver", ""},
	{"a call sets its context", "cuda/driver/context.go", "if err := cu.SetCurrentContext(c.cu); err != nil {", never,
		"driver", ""},
	{"events of other processes are such", "cuda/driver/event.go", "flags |= cu.InterprocessEvent", "", "driver", ""},
	{"events have timing where it is asked for", "cuda/driver/event.go", "if !o.Timing {", "if true {", "driver", ""},
	{"read-only memory is registered as such", "cuda/driver/memory.go", "flag = 1", "flag = 0", "driver", ""},
	{"a capture may end on another thread", "cuda/driver/shim.c", "CU_STREAM_CAPTURE_MODE_RELAXED",
		"CU_STREAM_CAPTURE_MODE_GLOBAL", "driver", ""},
}

// representatives are the mutants that run for every commit.
var representatives = []string{"a copy out waits for compute", "psb_stream_wait calls cuStreamWaitEvent"}

var function = regexp.MustCompile(`(?ms)^CUresult (psb_\w+)\(.*?^}`)

// ofShim makes mutants of the C functions. One kind leaves out a call of the driver, so that the function does
// nothing. The other leaves out the setting of the context.
func ofShim(text string) []mutant {
	var all []mutant
	for _, found := range function.FindAllStringSubmatch(text, -1) {
		body, name := found[0], found[1]
		add := func(what, old, replaced string) {
			all = append(all, mutant{fmt.Sprintf("%s %s", name, what), "cuda/driver/shim.c", body,
				strings.Replace(body, old, replaced, 1), "driver", ""})
		}
		add("sets its context", "\tON(ctx);\n", "")
		at := strings.LastIndex(body, "return cu")
		call := body[at : strings.Index(body[at:], ";")+at]
		called, _, _ := strings.Cut(strings.TrimPrefix(call, "return "), "(")
		add("calls "+called, call, "return CUDA_SUCCESS")
	}
	return all
}
