package environment

import (
	"fmt"
	"strconv"
	"time"

	"github.com/psbench/psbench/core/host/noise"
	"github.com/psbench/psbench/internal/screen"
)

// Noise returns one line about the CPU time that other processes used during the measured pass, or "" if that time is
// unknown.
func Noise(intervals []noise.Interval) string {
	i := noise.Find(intervals, noise.Measured)
	if i == nil || i.Machine == nil {
		return ""
	}
	m := i.Machine
	text := "the run is too short to measure the CPU time of other processes"
	if i.Share(m.Uncertainty) <= vague || i.Loud(m.Others, m.Uncertainty) {
		text = fmt.Sprintf("other processes %.1f ± %.1f %% CPU, steal %.1f %%", 100*i.Share(m.Others),
			100*i.Share(m.Uncertainty), 100*i.Share(m.Steal))
	}
	if i.Load != nil {
		text += fmt.Sprintf(", load %.2f on %s", *i.Load, screen.Count(m.Cores, "core"))
	}
	return text
}

// NoiseTables writes the CPU time that each process used in each part of a run, including the measured pass.
func NoiseTables(w *screen.Page, intervals []noise.Interval) error {
	if len(intervals) == 0 {
		return nil
	}
	columns := []screen.Column{
		screen.Left("interval"), screen.Right("seconds"), screen.Right("run's CPU s"), screen.Right("others CPU s"),
		screen.Right("± s").Yields(1),
		screen.Right("others %"), screen.Right("steal %"), screen.Right("idle %").Yields(2), screen.Right("load"),
	}
	var rows [][]string
	for _, i := range intervals {
		row := []string{i.Name, fixed3(i.Duration), fixed3(used(i)), "-", "-", "-", "-", "-", "-"}
		if m := i.Machine; m != nil {
			copy(row[3:], []string{fixed3(m.Others), fixed3(m.Uncertainty), percentage(&i, m.Others),
				percentage(&i, m.Steal), percentage(&i, m.Idle)})
		}
		if i.Load != nil {
			row[8] = strconv.FormatFloat(*i.Load, 'f', 2, 64)
		}
		rows = append(rows, row)
	}
	if err := w.Table("noise: CPU time of all cores", columns, rows); err != nil {
		return err
	}
	return processNoise(w, intervals)
}

// processNoise writes the CPU time of each process in each interval.
func processNoise(w *screen.Page, intervals []noise.Interval) error {
	columns := []screen.Column{screen.Left("process")}
	for _, i := range intervals {
		columns = append(columns, screen.Right(i.Name+" CPU s"))
	}
	columns = append(columns, screen.Right("voluntary"), screen.Right("involuntary"))
	var rows [][]string
	for _, p := range intervals[len(intervals)-1].Processes { // all processes appear in the last interval
		row := []string{p.Name}
		voluntary, involuntary := "-", "-"
		for _, i := range intervals {
			u := usage(i, p.PID)
			if u == nil {
				row = append(row, "-")
				continue
			}
			row = append(row, fixed3(u.CPU))
			if i.Name == noise.Measured && u.VoluntarySwitches != nil && u.InvoluntarySwitches != nil {
				voluntary, involuntary = strconv.FormatInt(*u.VoluntarySwitches,
					10), strconv.FormatInt(*u.InvoluntarySwitches, 10)
			}
		}
		rows = append(rows, append(row, voluntary, involuntary))
	}
	return w.Table("noise: CPU time of processes, and their context switches while measuring", columns, rows)
}

func usage(i noise.Interval, pid int) *noise.Usage {
	for k := range i.Processes {
		if i.Processes[k].PID == pid {
			return &i.Processes[k]
		}
	}
	return nil
}

// used returns the CPU time of all processes of a run.
func used(i noise.Interval) (sum time.Duration) {
	for _, p := range i.Processes {
		sum += p.CPU
	}
	return sum
}

// vague is the limit of uncertainty, as a share of an interval's CPU time. Above this limit psbench prints no
// percentages.
const vague = 0.1

// percentage returns a CPU time as a share of the machine's CPU time.
func percentage(i *noise.Interval, cpu time.Duration) string {
	if i.Share(i.Machine.Uncertainty) > vague {
		return "-"
	}
	return strconv.FormatFloat(100*i.Share(cpu), 'f', 1, 64)
}

// fixed3 returns seconds with three decimals.
func fixed3(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
