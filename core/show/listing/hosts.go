package listing

import (
	"fmt"
	"strconv"

	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/core/process/launchers/rollcall"
	"github.com/psbench/psbench/internal/screen"
)

// Hosts writes the launchers in the order in which psbench tries them, the chosen launcher, and its tasks. If the
// tasks could not be queried, tasks is nil.
func Hosts(p *screen.Page, f *launchers.Finding, tasks []rollcall.Task) error {
	if err := launcherTable(p, f.Views); err != nil {
		return err
	}
	p.Line(2, fmt.Sprintf("launcher: %s, rank %d of %s, on %s: %s", f.Launcher, f.Place.Rank, f.Place.Tasks(),
		f.Place.Host, f.Why))
	for _, read := range sources(f.Place) {
		p.Line(4, "  "+read)
	}
	if crowded := f.Crowded(); crowded != nil {
		p.Line(2, "psbench run: refuses: "+crowded.Error())
	} else if f.Place.Several() {
		p.Line(2, "psbench run: goes over the hosts of all tasks")
	} else {
		p.Line(2, "psbench run: runs here, as a single task")
	}
	if f.Lone != "" {
		p.Line(2, "warning: "+f.Lone)
	}
	if tasks == nil {
		p.Line(2,
			"tasks: not asked, since there is no connection by PMI-1 or PMIx (srun --mpi=pmi2, mpiexec of MPICH and mpirun of Open MPI make one)")
		return nil
	}
	p.Line(2, fmt.Sprintf("tasks: %s, with the same psbench", screen.Count(len(tasks), "task")))
	return taskTable(p, tasks)
}

func launcherTable(p *screen.Page, views []launchers.View) error {
	var rows [][]string
	for i, v := range views {
		row := []string{strconv.Itoa(i + 1), v.Launcher, "", "", "", "", v.Why}
		if v.Place != nil {
			row[2], row[3], row[4], row[5] = strconv.Itoa(v.Place.Rank), v.Place.Tasks(), localRank(v.Place.Local),
				v.Place.Host
		}
		rows = append(rows, row)
	}
	return p.Grid([]screen.Column{
		screen.Right("order"), screen.Left("launcher"), screen.Right("rank"), screen.Right("of"),
		screen.Right("local rank").Yields(1), screen.Left("host").Yields(2), screen.Left("why"),
	}, rows, false)
}

func taskTable(p *screen.Page, tasks []rollcall.Task) error {
	var rows [][]string
	for _, t := range tasks {
		rows = append(rows,
			[]string{strconv.Itoa(t.Rank), t.Host, localRank(t.Local), strconv.Itoa(t.PID), t.Version, t.Binary})
	}
	return p.Grid([]screen.Column{
		screen.Right("rank"), screen.Left("host"), screen.Right("local rank").Yields(2),
		screen.Right("pid").Yields(3), screen.Left("version").Yields(1), screen.Left("sha256 of the binary"),
	}, rows, false)
}

// localRank returns the table cell of a local rank; "" if the launcher does not set one.
func localRank(rank int) string {
	if rank < 0 {
		return ""
	}
	return strconv.Itoa(rank)
}

// sources states where psbench read each value of a place, one value per line.
func sources(place launchers.Place) []string {
	var lines []string
	for _, s := range []struct{ name, from, value string }{
		{"size", place.From.Size, place.Tasks()}, {"rank", place.From.Rank, strconv.Itoa(place.Rank)},
		{"local rank", place.From.Local, localRank(place.Local)}, {"host", place.From.Host, place.Host},
	} {
		if s.from != "" {
			lines = append(lines, fmt.Sprintf("%s %s: %s", s.name, s.value, s.from))
		}
	}
	return lines
}
