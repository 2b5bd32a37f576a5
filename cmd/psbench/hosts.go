package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/core/process/launchers/rollcall"
	"github.com/psbench/psbench/core/process/team"
	"github.com/psbench/psbench/internal/screen"
)

// hostsFlag is --hosts, after which a file may follow, with or without an equals sign.
type hostsFlag struct {
	given bool
	file  string
}

// noHostsFile is the value of a --hosts without one. No file has this name.
const noHostsFile = "/"

func (h *hostsFlag) String() string { return "" }
func (h *hostsFlag) Type() string   { return "hosts" }

// Set implements pflag.Value.
func (h *hostsFlag) Set(file string) error {
	switch file {
	case noHostsFile:
	case "":
		return errors.New("no file has an empty name")
	default:
		h.file = file
	}
	h.given = true
	return nil
}

// arguments takes the file of --hosts FILE, which reaches cobra as an argument.
func (h *hostsFlag) arguments(cmd *cobra.Command, args []string) error {
	if h.given && h.file == "" && len(args) == 1 {
		if h.file = args[0]; h.file == "" {
			return usagef("--%s is \"\" but must be %s", team.HostsFlag, flagTypes[h.Type()])
		}
		return nil
	}
	return noArguments(cmd, args)
}

// hosts shows which launcher has started this process, and with which others. Of several tasks the first one
// speaks for all, unless there is a failure that only another one can tell.
func (a *app) hosts(cmd *cobra.Command, file, format string) error {
	m, err := a.member(cmd, nil, a.mergeOwn)
	if err != nil {
		return err
	}
	f := launchers.Look(team.System(a.environ, file))
	if f.Err != nil {
		return f.Err
	}
	m.Finding = f
	tasks, err := m.RollCall(cmd.Context())
	switch {
	case err != nil || f.Place.Rank != 0:
		return err
	case format == "json":
		return encodeJSON(a.stdout, hostsDocument(f, tasks))
	}
	return a.printHosts(f, tasks)
}

// printHosts prints the launchers in their order, what was decided, and the tasks.
func (a *app) printHosts(f *launchers.Finding, tasks []rollcall.Task) error {
	return a.print(func(p *screen.Page) error {
		var rows [][]string
		for i, v := range f.Views {
			row := []string{strconv.Itoa(i + 1), v.Launcher, "", "", "", "", v.Why}
			if v.Place != nil {
				row[2], row[3], row[4], row[5] = strconv.Itoa(v.Place.Rank), v.Place.Tasks(), localRank(v.Place.Local),
					v.Place.Host
			}
			rows = append(rows, row)
		}
		columns := []screen.Column{
			screen.Right("order"), screen.Left("launcher"), screen.Right("rank"), screen.Right("of"),
			screen.Right("local rank").Yields(1), screen.Left("host").Yields(2), screen.Left("why"),
		}
		if err := p.Grid(columns, rows, false); err != nil {
			return err
		}
		p.Line(2, fmt.Sprintf("launcher: %s, rank %d of %s, on %s: %s", f.Launcher, f.Place.Rank, f.Place.Tasks(),
			f.Place.Host, f.Why))
		for _, read := range sources(f) {
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
		rows = nil
		for _, t := range tasks {
			rows = append(rows,
				[]string{strconv.Itoa(t.Rank), t.Host, localRank(t.Local), strconv.Itoa(t.PID), t.Version, t.Binary})
		}
		return p.Grid([]screen.Column{
			screen.Right("rank"), screen.Left("host"), screen.Right("local rank").Yields(2),
			screen.Right("pid").Yields(3), screen.Left("version").Yields(1), screen.Left("sha256 of the binary"),
		}, rows, false)
	})
}

// localRank is one in a cell, "" where it is not told.
func localRank(rank int) string {
	if rank < 0 {
		return ""
	}
	return strconv.Itoa(rank)
}

// sources say where each value of the place was read.
func sources(f *launchers.Finding) []string {
	var lines []string
	from := f.Place.From
	for _, s := range []struct{ name, from, value string }{
		{"size", from.Size, f.Place.Tasks()}, {"rank", from.Rank, strconv.Itoa(f.Place.Rank)},
		{"local rank", from.Local, localRank(f.Place.Local)}, {"host", from.Host, f.Place.Host},
	} {
		if s.from != "" {
			lines = append(lines, fmt.Sprintf("%s %s: %s", s.name, s.value, s.from))
		}
	}
	return lines
}

// hostsJSON is what config --hosts --format json prints.
type hostsJSON struct {
	Launchers []launcherJSON  `json:"launchers"` // in their order
	Launcher  string          `json:"launcher"`  // that decides
	Why       string          `json:"why"`
	Place     *placeJSON      `json:"place"`
	Several   bool            `json:"several"` // psbench run goes over the hosts of all tasks
	Warning   string          `json:"warning,omitempty"`
	Tasks     []rollcall.Task `json:"tasks,omitempty"`
}

type launcherJSON struct {
	Launcher string            `json:"launcher"`
	Why      string            `json:"why"`
	Place    *placeJSON        `json:"place,omitempty"` // none where it has not started this process
	Read     map[string]string `json:"read,omitempty"`
}

type placeJSON struct {
	Size  *int              `json:"size,omitempty"` // none where it is not told
	Rank  int               `json:"rank"`
	Local *int              `json:"local_rank,omitempty"`
	Host  string            `json:"host"`
	From  map[string]string `json:"from,omitempty"`
}

func hostsDocument(f *launchers.Finding, tasks []rollcall.Task) hostsJSON {
	d := hostsJSON{Launcher: f.Launcher, Why: f.Why, Place: placeOf(&f.Place), Several: f.Place.Several(),
		Warning: f.Lone, Tasks: tasks}
	for _, v := range f.Views {
		l := launcherJSON{Launcher: v.Launcher, Why: v.Why, Place: placeOf(v.Place), Read: map[string]string{}}
		for _, read := range v.Read {
			l.Read[read.Name] = read.Value
		}
		d.Launchers = append(d.Launchers, l)
	}
	return d
}

func placeOf(p *launchers.Place) *placeJSON {
	if p == nil {
		return nil
	}
	out := &placeJSON{Rank: p.Rank, Host: p.Host, From: map[string]string{}}
	if p.Size > 0 {
		out.Size = &p.Size
	}
	if p.Local >= 0 {
		out.Local = &p.Local
	}
	for name, from := range map[string]string{"size": p.From.Size, "rank": p.From.Rank, "local_rank": p.From.Local,
		"host": p.From.Host} {
		if from != "" {
			out.From[name] = from
		}
	}
	return out
}
