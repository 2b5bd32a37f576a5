package table

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// library holds some servers of tables and the trainers that use all of them.
type library struct {
	roles    []*Role
	tables   []*toyTable
	trainers []*sdk.Tables
}

// openLibrary connects two trainers and two tables, with 3 and 2 columns.
func openLibrary(t *testing.T, transport string, fail string) *library {
	t.Helper()
	specs := []comm.TableSpec{{Rows: 4, Width: 3}, {Rows: 5, Width: 2}}
	l := &library{trainers: make([]*sdk.Tables, 2)}
	lookup := comm.LookupSpec{Tables: specs, Bags: 3, Indices: 4}
	on := func(name string) process.Config {
		return process.Config{Name: name, Transport: transport, Listen: "127.0.0.1"}
	}
	var servers []process.Peer
	for i, spec := range specs {
		c := Config{Position: i, Seed: uint64(100 * i), Trainers: 2, Summarize: true} // #nosec G115 -- small
		role, table, err := tableOf(t, on(fmt.Sprintf("server%d", 2+i)), c, spec, fail)
		hosttest.Must(t, err)
		hosttest.Must(t, role.Reset())
		l.roles, l.tables = append(l.roles, role), append(l.tables, table)
		servers = append(servers, hosttest.LinkPeerOf(role.Process))
	}
	// The trainers' processes are created after the servers' processes, and so closed before them.
	var processes []*process.Process
	var trainers []process.Peer
	for i := range l.trainers {
		p := hosttest.Process(t, hosttest.Folder(t), nil, on(fmt.Sprintf("trainer%d", i)))
		processes, trainers = append(processes, p), append(trainers, hosttest.LinkPeerOf(p))
	}
	joined := make(chan error, len(l.roles)+len(l.trainers))
	for _, role := range l.roles {
		go func() {
			_, err := role.Connect(lookup, trainers)
			joined <- err
		}()
	}
	for i, p := range processes {
		go func() {
			var err error
			l.trainers[i], err = p.JoinTables(&lookup, servers)
			joined <- err
		}()
	}
	for range cap(joined) {
		hosttest.Must(t, <-joined)
	}
	return l
}

// call makes a trainer call all servers at once.
func (l *library) call(trainer int, batch int64, update bool) error {
	var futures []*comm.Future
	for _, link := range l.trainers[trainer].Links {
		start := link.Lookup
		if update {
			start = link.Update
		}
		futures = append(futures, start(batch))
	}
	var err error
	for _, f := range futures {
		if ferr := f.Wait(); err == nil {
			err = ferr
		}
	}
	return err
}

// Trainers look up and update all tables, and the servers record each call.
func TestTrainersUseTables(t *testing.T) {
	for _, transport := range hosttest.Transports {
		l := openLibrary(t, transport, "")
		for trainer, tables := range l.trainers {
			hosttest.Must(t, tables.Store.Ask([]int64{0, 2, 2}, []int64{0, 3}))
			hosttest.Must(t, l.call(trainer, 7, false))
			// The expected values are rows 0 and 3, less the previous trainer's updates.
			taken := float32(2 * trainer)
			want := []float32{30 - taken, 32 - taken, 34 - taken, 230 - taken, 232 - taken, 0, 0, 0, 0, 0}
			if got := tables.Store.Values[:10]; !slices.Equal(got, want) {
				t.Errorf("%s: trainer %d found %v, want %v", transport, trainer, got, want)
			}
			for i := range 10 {
				tables.Store.Gradients[i] = 1
			}
			hosttest.Must(t, l.call(trainer, 7, true))
		}
		for i, role := range l.roles {
			for _, name := range []string{"lookup", "update"} {
				var keys []string
				for _, m := range hosttest.TimesIn(role.Recorder, name) {
					keys = append(keys, m.Key.String())
				}
				if d := cmp.Diff([]string{"7,0", "7,1"}, keys); d != "" {
					t.Errorf("%s: the %ss of table %d: %s", transport, name, i, d)
				}
			}
			width := l.tables[i].spec.Width
			if s := hosttest.SummariesOf(t, role); len(s) != 1 || s[0].DeltaSum != float64(-2*2*width) {
				t.Errorf("%s: table %d changed by %v", transport, i, s)
			}
		}
	}
}

// A failing server reports the cause. The server's trainers see that it is gone.
func TestTableServerThatFails(t *testing.T) {
	for _, transport := range hosttest.Transports {
		l := openLibrary(t, transport, "lookup")
		hosttest.Must(t, l.trainers[1].Store.Ask([]int64{0, 1}, []int64{2}))
		if err := l.call(1, 0, false); fault.Describe(err).Cause != fault.Peer {
			t.Errorf("%s: the trainer saw %v", transport, err)
		}
		for _, role := range l.roles {
			if got := (<-role.Events.Failures).Error(); got != role.Name()+": server toy, Lookup of batch 0: "+
				hosttest.ErrToy.Error() {
				t.Errorf("%s: %s told %q", transport, role.Name(), got)
			}
		}
	}
}

func TestTrainersNeedAServerOfEachTable(t *testing.T) {
	p := hosttest.Process(t, hosttest.Folder(t), nil, process.Config{Name: "trainer0"})
	if tables, err := p.JoinTables(nil, nil); tables != nil || err != nil {
		t.Errorf("without a lookup: %v, %v", tables, err)
	}
	_, err := p.JoinTables(&comm.LookupSpec{Tables: make([]comm.TableSpec, 2)}, make([]process.Peer, 1))
	if err == nil || !strings.Contains(err.Error(), "trainer0 was given 1 servers of 2 tables") {
		t.Errorf("with one server of two: %v", err)
	}
}
