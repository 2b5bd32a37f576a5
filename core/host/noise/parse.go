package noise

import (
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU times in /proc, on every platform of Linux that Go has.
const tick = 10 * time.Millisecond

// machineTimes are CPU times of all cores since the host started. They are in ticks: in ns
// some hundred cores have more than an int64 holds after a year.
type machineTimes struct {
	cores              int
	idle, steal, total int64 // idle with what waits for disks
}

// The columns of the first line of /proc/stat: user, nice, system, idle, iowait, irq,
// softirq, steal; guests, which follow, are in user and nice already.
const (
	columnIdle   = 3
	columnIOWait = 4
	columnSteal  = 7
)

// parseMachine reads /proc/stat.
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

// processTimes is what /proc/PID/stat says of a process.
type processTimes struct {
	group    int
	cpu      time.Duration // in ticks, ended threads included
	children time.Duration // of those that ended and were waited for
}

// The columns after the name.
const (
	columnGroup    = 2
	columnCPU      = 11 // user, then system
	columnChildren = 13 // the same
)

// parseProcess reads /proc/PID/stat.
func parseProcess(text string) (t processTimes, ok bool) {
	name := strings.LastIndexByte(text, ')') // which may hold anything
	fields := strings.Fields(text[name+1:])
	if name < 0 || len(fields) < columnChildren+2 {
		return t, false
	}
	group, err := strconv.ParseInt(fields[columnGroup], 10, 32)
	if err != nil {
		return t, false
	}
	t.group = int(group)
	for i, sum := range []*time.Duration{&t.cpu, &t.cpu, &t.children, &t.children} {
		ticks, err := strconv.ParseUint(fields[columnCPU+i], 10, 36) // 21 years
		if err != nil {
			return t, false
		}
		*sum += time.Duration(ticks) * tick // #nosec G115 -- 36 bits
	}
	return t, true
}

// switches are context switches of a thread.
type switches struct{ voluntary, involuntary int64 }

// parseSwitches reads /proc/PID/task/TID/status.
func parseSwitches(text string) (s switches, ok bool) {
	voluntary, ok1 := parseCount(text, "\nvoluntary_ctxt_switches:")
	involuntary, ok2 := parseCount(text, "\nnonvoluntary_ctxt_switches:")
	return switches{voluntary, involuntary}, ok1 && ok2
}

func parseCount(text, label string) (int64, bool) {
	_, rest, found := strings.Cut(text, label)
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseUint(strings.TrimSpace(line), 10, 62)
	return int64(n), found && err == nil // #nosec G115 -- 62 bits
}

// parseLoad reads the average over a minute from /proc/loadavg.
func parseLoad(text string) (float64, bool) {
	first, _, _ := strings.Cut(text, " ")
	load, err := strconv.ParseFloat(first, 64)
	const most = 1e9 // no machine's; it keeps NaN and infinity out
	return load, err == nil && load >= 0 && load < most
}

// parsePIDs reads numbers of processes, which spaces separate, and ends at what is none.
func parsePIDs(text string) []int {
	var pids []int
	for field := range strings.FieldsSeq(text) {
		n, err := strconv.ParseInt(field, 10, 32)
		if err != nil || n <= 0 {
			break
		}
		pids = append(pids, int(n))
	}
	return pids
}
