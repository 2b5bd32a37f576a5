package comm

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/psbench/psbench/comm/internal/commtest"
)

func TestTablesThatDoNotFit(t *testing.T) {
	large := []TableSpec{{Rows: math.MaxInt32, Width: math.MaxInt32}, {Rows: 1 << 30, Width: 1 << 20}}
	two := []string{"server2", "server3"}
	for want, err := range map[string]error{
		"the tables of server2 and server3 and the lookups of 3 trainers need 16 EiB, which does not fit: ": ReserveTables(two, large, LookupSpec{}, 3),
		" GiB are left (": ReserveTables(two, large, LookupSpec{}, 3),
		"the tables of server3 and the lookups of 2 trainers need 4 PiB, which does not fit: ":                                       ReserveTables(two[1:], large[1:], LookupSpec{}, 2),
		"the tables of server3 and the lookups of 2 trainers need 16 PiB, which does not fit: ":                                      ReserveTables(two[1:], []TableSpec{{1, 1}}, LookupSpec{Tables: []TableSpec{{1, 1 << 20}}, Bags: 1 << 30}, 2),
		"server2: a table of 0 rows of 1 columns cannot be: it has 1 to 2147483647 of each":                                          ReserveTables(two[:1], []TableSpec{{0, 1}}, LookupSpec{}, 1),
		"server2: a table of 1 rows of 2147483648 columns cannot be":                                                                 ReserveTables(two[:1], []TableSpec{{1, 1 << 31}}, LookupSpec{}, 1),
		"trainer0: a lookup of 2147483648 bags with 0 indices in 1 tables needs 32 EiB, more than a process can address":             storeError(LookupSpec{Tables: large[:1], Bags: 1 << 31}),
		"trainer0: table 1: a table of 4 rows of -1 columns cannot be":                                                               storeError(LookupSpec{Tables: []TableSpec{{1, 1}, {4, -1}}, Bags: 1}),
		"trainer0: a lookup of 0 bags with 0 indices in 1 tables cannot be: it has at least 1 bag, 0 indices and 1 table":            storeError(LookupSpec{Tables: large[:1]}),
		"for trainer0 lookups does not fit: ":                                                                                        storeError(LookupSpec{Tables: large[1:], Bags: 1 << 30}),
		"a batch of 1048576 bags with 0 indices needs a frame of 137438953472 bytes for table 0, more than the limit of 68719476736": portError(LookupSpec{Tables: []TableSpec{{1, 1 << 15}}, Bags: 1 << 20}),
		"there is no table 1 among 1": (&LookupSpec{Tables: large[:1], Bags: 1}).CheckPlace(1),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	commtest.Must(t, ReserveTables(two, []TableSpec{{300, 64}, {300, 64}}, LookupSpec{Tables: []TableSpec{{300, 64}, {300, 64}}, Bags: 8, Indices: 80}, 8))
}

// storeError is what every transport says of a spec for which there is no room.
func storeError(spec LookupSpec) error {
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

// portError is what the port of frames says of a spec.
func portError(spec LookupSpec) error {
	_, err := fabrics[1].NewTablePort(Links{Self: "server2"}, spec, 0)
	return err
}
