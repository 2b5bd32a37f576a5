package noise

import (
	"strconv"
	"strings"

	"github.com/psbench/psbench/internal/procfs"
)

// machineTimes holds the CPU times of all cores since the host started, in ticks. In ns, the times of a hundred cores
// would overflow an int64 after a year.
type machineTimes struct {
	cores              int
	idle, steal, total int64 // idle includes waiting for disks
}

// These are columns of the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. The guest
// columns after them are already included in user and nice.
const (
	columnIdle   = 3
	columnIOWait = 4
	columnSteal  = 7
)

// parseMachine parses /proc/stat.
func parseMachine(text string) (t machineTimes, ok bool) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		if fields[0] != "cpu" {
			t.cores++
			continue
		}
		if len(fields) <= 1+columnSteal || t.total > 0 {
			return t, false
		}
		for column, field := range fields[1 : 2+columnSteal] {
			ticks, err := strconv.ParseUint(field, 10, 59)
			if err != nil {
				return t, false
			}
			t.total += int64(ticks) // #nosec G115 -- 59 bits, of which eight can be added up
			switch column {
			case columnIdle, columnIOWait:
				t.idle += int64(ticks) // #nosec G115 -- the same
			case columnSteal:
				t.steal += int64(ticks) // #nosec G115 -- the same
			}
		}
	}
	return t, t.cores > 0 && t.total > 0
}

// switches counts the context switches of a thread.
type switches struct{ voluntary, involuntary int64 }

// parseSwitches parses /proc/PID/task/TID/status.
func parseSwitches(text string) (s switches, ok bool) {
	voluntary, err1 := strconv.ParseUint(procfs.Field(text, "voluntary_ctxt_switches"), 10, 62)
	involuntary, err2 := strconv.ParseUint(procfs.Field(text, "nonvoluntary_ctxt_switches"), 10, 62)
	return switches{int64(voluntary), int64(involuntary)}, err1 == nil && err2 == nil // #nosec G115 -- 62 bits
}
