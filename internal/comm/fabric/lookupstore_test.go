package fabric

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/wire"
)

func TestTablesThatDoNotFit(t *testing.T) {
	large := []comm.TableSpec{{Rows: math.MaxInt32, Width: math.MaxInt32}, {Rows: 1 << 30, Width: 1 << 20}}
	two := []string{"server2", "server3"}
	for want, err := range map[string]error{
		"the tables of server2 and server3 and the lookups of 3 trainers need 16 EiB, which does not fit: ": comm.ReserveTables(two, large, comm.LookupSpec{}, 3),
		" GiB are left (": comm.ReserveTables(two, large, comm.LookupSpec{}, 3),
		"the tables of server3 and the lookups of 2 trainers need 4 PiB, which does not fit: ":                                       comm.ReserveTables(two[1:], large[1:], comm.LookupSpec{}, 2),
		"the tables of server3 and the lookups of 2 trainers need 16 PiB, which does not fit: ":                                      comm.ReserveTables(two[1:], []comm.TableSpec{{Rows: 1, Width: 1}}, comm.LookupSpec{Tables: []comm.TableSpec{{Rows: 1, Width: 1 << 20}}, Bags: 1 << 30}, 2),
		"server2: a table cannot have 0 rows of 1 columns: it has 1 to 2147483647 of each":                                           comm.ReserveTables(two[:1], []comm.TableSpec{{Rows: 0, Width: 1}}, comm.LookupSpec{}, 1),
		"server2: a table cannot have 1 rows of 2147483648 columns":                                                                  comm.ReserveTables(two[:1], []comm.TableSpec{{Rows: 1, Width: 1 << 31}}, comm.LookupSpec{}, 1),
		"trainer0: a lookup of 2147483648 bags with 0 indices in 1 tables needs 32 EiB, more than a process can address":             storeError(comm.LookupSpec{Tables: large[:1], Bags: 1 << 31}),
		"trainer0: table 1: a table cannot have 4 rows of -1 columns":                                                                storeError(comm.LookupSpec{Tables: []comm.TableSpec{{Rows: 1, Width: 1}, {Rows: 4, Width: -1}}, Bags: 1}),
		"trainer0: a lookup cannot have 0 bags with 0 indices in 1 tables: it has at least 1 bag, 0 indices and 1 table":             storeError(comm.LookupSpec{Tables: large[:1]}),
		"for trainer0 lookups does not fit: ":                                                                                        storeError(comm.LookupSpec{Tables: large[1:], Bags: 1 << 30}),
		"a batch of 1048576 bags with 0 indices needs a frame of 137438953472 bytes for table 0, more than the limit of 68719476736": portError(comm.LookupSpec{Tables: []comm.TableSpec{{Rows: 1, Width: 1 << 15}}, Bags: 1 << 20}),
		"there is no table 1 among 1": (&comm.LookupSpec{Tables: large[:1], Bags: 1}).CheckTable(1),
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
	commtest.Must(t, comm.ReserveTables(two, []comm.TableSpec{{Rows: 300, Width: 64}, {Rows: 300, Width: 64}},
		comm.LookupSpec{Tables: []comm.TableSpec{{Rows: 300, Width: 64}, {Rows: 300, Width: 64}}, Bags: 8, Indices: 80},
		8))
}

// storeError is every transport's error for a spec that does not fit into
// memory.
func storeError(spec comm.LookupSpec) error {
	var first error
	for _, tr := range []*Fabric{fabrics[0], fabrics[1]} {
		_, err := tr.NewLookupStore("trainer0", spec)
		if first == nil {
			first = err
		}
		if err == nil || strings.Split(err.Error(), ":")[0] != strings.Split(first.Error(), ":")[0] {
			return fmt.Errorf("over %s: %w", tr.Name, err)
		}
	}
	return first
}

// portError is the error of a port of frames for such a spec.
func portError(spec comm.LookupSpec) error {
	_, err := fabrics[1].NewTablePort(wire.Links{Self: "server2"}, spec, 0)
	return err
}
