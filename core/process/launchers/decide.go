package launchers

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/internal/quote"
)

// decide chooses this process's place from the views of all launchers.
//
// A launcher with a single task does not contradict a launcher with several, because mpirun may be called within a step
// of one task. Launchers with several tasks must agree, with one exception: one launcher may have started the agents of
// the other, as srun starts torchrun's agents. The inner launcher then decides.
func (f *Finding) decide(r *reader) {
	f.reader = r
	f.Launcher, f.Place, f.Why = Alone, Place{Size: 1,
		Host: r.Host}, "no launcher has started this process as one of several"
	if value, set := r.text(option.OverrideVariable); set {
		if value == "1" {
			f.Why = option.OverrideVariable + " is 1"
		} else {
			f.Err = fmt.Errorf("%s is %s but must be 1, or not set", option.OverrideVariable, quote.String(value))
		}
		return
	}
	var decides *View
	for i := range f.Views {
		v := &f.Views[i]
		switch {
		case v.Err != nil:
			f.Err = v.Err
			return
		case v.Place == nil || decides != nil && decides.Place.Several() && (v.weak || !v.Place.Several()):
		case decides == nil || !decides.Place.Several() && v.Place.Several() || within(v.Place, decides.Place):
			decides = v
		case !decides.Place.Several() || same(decides.Place, v.Place) || within(decides.Place, v.Place):
		default:
			f.Err = contradicted(*decides, *v)
			return
		}
	}
	switch given, _ := r.first(option.CoreVariable, option.SecretVariable); {
	case decides != nil:
		f.Launcher, f.Place, f.Why = decides.Launcher, *decides.Place, decides.Why
	case given != "": // the user expects other tasks
		f.Err =
			fmt.Errorf("%s is set, but %s: unset it, or start psbench as several tasks, as mpirun does; %s=1 to run this process alone",
				given, f.Why, option.OverrideVariable)
		return
	}
	if !f.Place.Several() {
		f.Lone = r.others()
	}
}

// same reports whether two launchers describe the same tasks. A missing value is compatible with every value.
func same(p, q *Place) bool {
	return p.Rank == q.Rank && (p.Size == q.Size || p.Size == 0 || q.Size == 0) &&
		(p.Local == q.Local || p.Local < 0 || q.Local < 0) &&
		(label(p.Host) == label(q.Host) || p.From.Host == "" || q.From.Host == "")
}

// label strips the domain from a host name. Only some launchers write the domain.
func label(host string) string {
	if net.ParseIP(host) == nil {
		host, _, _ = strings.Cut(host, ".")
	}
	return strings.ToLower(host)
}

// within reports whether the tasks of the launcher outer are the agents of the launcher inner.
func within(inner, outer *Place) bool {
	a := inner.Agents
	return a != nil && (a.Size == 0 || a.Rank == outer.Rank && (a.Size == outer.Size || outer.Size == 0))
}

// Contradiction is the error for launchers that disagree. Contradiction lists all values that were read.
type Contradiction struct {
	Reason string
	Rows   [][3]string // columns: launcher, variable, value
}

func contradicted(views ...View) error {
	if v := views[0]; v.Err != nil && len(v.Read) == 0 {
		return fmt.Errorf("%s: %w", v.Launcher, v.Err)
	}
	c := &Contradiction{}
	var said []string
	for _, v := range views {
		if v.Err != nil {
			c.Reason = v.Launcher + " contradicts itself: " + v.Err.Error()
		} else {
			text := v.Launcher + " says " + v.Place.words()
			if v.Place.From.Host != "" {
				text += ", on " + quote.Word(v.Place.Host)
			}
			said = append(said, text)
		}
		for _, read := range v.Read {
			c.Rows = append(c.Rows, [3]string{v.Launcher, read.Name, quote.Word(read.Value)})
		}
	}
	if c.Reason == "" {
		c.Reason = strings.Join(said, " but ") + ": two launchers that disagree leave no way to tell who else runs"
	}
	return c
}

// words returns a phrase for a place.
func (p *Place) words() string {
	text := fmt.Sprintf("rank %d of %d tasks", p.Rank, p.Size)
	if p.Size == 0 {
		text = fmt.Sprintf("rank %d of tasks that it does not count", p.Rank)
	}
	if p.Local >= 0 {
		text += fmt.Sprintf(", local rank %d", p.Local)
	}
	if a := p.Agents; a != nil && a.Size > 0 {
		text += fmt.Sprintf(", by agent %d of %d", a.Rank, a.Size)
	}
	return text
}

// Error returns the reason and a table of all values that were read.
func (c *Contradiction) Error() string {
	rows := slices.Insert(slices.Clone(c.Rows), 0, [3]string{"launcher", "variable", "value"})
	var widths [2]int
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], len(row[i]))
		}
	}
	var text strings.Builder
	text.WriteString(c.Reason)
	for _, row := range rows {
		fmt.Fprintf(&text, "\n  %-*s  %-*s  %s", widths[0], row[0], widths[1], row[1], row[2])
	}
	return text.String()
}

// Refusal returns an error if a command for a single process must not run here. Refusal returns nil if this process is
// a single task.
func (f *Finding) Refusal() error {
	const override = option.OverrideVariable + "=1 to run this process alone anyway"
	// For an error, the override is offered only if a launcher set the variables, because these may be wrong. A user
	// who gives a hosts file can correct it.
	launched := slices.ContainsFunc(f.Views,
		func(v View) bool { return v.Launcher != HostsFile && (v.Err != nil || v.Place != nil) })
	switch {
	case f.Err != nil && launched:
		return fmt.Errorf("%w\nset %s", f.Err, override)
	case f.Err != nil:
		return f.Err
	}
	if !f.Place.Several() {
		return nil
	}
	v := f.view()
	return fmt.Errorf("by %s this process is %s (%s), but this command is for one process: run it as a single task, as in %s, or set %s",
		v.Launcher, f.Place.words(), v.sources(), v.alone, override)
}

// Decides returns the name of the launcher that decides, or of the user's override if none does.
func (f *Finding) Decides() string {
	if f.Launcher == Alone {
		return option.OverrideVariable
	}
	return f.Launcher
}

// view returns the view of the launcher that decides.
func (f *Finding) view() View {
	i := slices.IndexFunc(f.Views, func(v View) bool { return v.Launcher == f.Launcher })
	return f.Views[i]
}

// sources lists the variables from which size and rank were read.
func (v View) sources() string {
	var names []string
	for _, read := range v.Read {
		if read.Name == v.Place.From.Size || read.Name == v.Place.From.Rank {
			names = append(names, read.Name+"="+quote.Word(read.Value))
		}
	}
	return cmp.Or(strings.Join(names, ", "), v.Why)
}

// Speaks reports whether the launcher lets its tasks communicate by PMI-1.
func (f *Finding) Speaks() bool {
	variable, _ := f.Connection()
	return variable != ""
}

// SpeaksPMIx reports whether the tasks can communicate by PMIx. PMIx needs a library that knows the launcher's address.
func (f *Finding) SpeaksPMIx() bool {
	if f.Launcher != "Open MPI" && f.Launcher != "Slurm" {
		return false
	}
	server, _ := f.reader.first(pmixServers...)
	_, named := f.reader.text("PMIX_NAMESPACE")
	return server != "" && named && f.reader.count("PMIX_RANK") == f.Place.Rank
}

// Connection returns the variable that gives a connection to a launcher with PMI-1. This launcher must have started the
// process as the rank that was decided. If there is none, variable is "".
func (f *Finding) Connection() (variable, value string) {
	for _, v := range f.Views {
		if v.Launcher != hydra || v.Place == nil || f.Launcher == Alone || !same(v.Place, &f.Place) ||
			v.Place.Size != f.Place.Size {
			continue
		}
		for _, read := range v.Read {
			if read.Name == fdVariable {
				return read.Name, read.Value
			}
		}
	}
	return "", ""
}
