package listing

import (
	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/core/process/launchers/rollcall"
)

// HostsDocument is the JSON output of psbench config --hosts --format json.
type HostsDocument struct {
	Launchers []Launcher      `json:"launchers"` // in the order in which psbench tries them
	Launcher  string          `json:"launcher"`  // chosen launcher
	Why       string          `json:"why"`
	Place     *Place          `json:"place"`
	Several   bool            `json:"several"` // psbench run uses the hosts of all tasks
	Warning   string          `json:"warning,omitempty"`
	Tasks     []rollcall.Task `json:"tasks,omitempty"`
}

// Launcher describes one launcher.
type Launcher struct {
	Launcher string            `json:"launcher"`
	Why      string            `json:"why"`
	Place    *Place            `json:"place,omitempty"` // absent if the launcher did not start this process
	Read     map[string]string `json:"read,omitempty"`
}

// Place is this process's place among the launcher's tasks.
type Place struct {
	Size  *int              `json:"size,omitempty"` // absent if the launcher does not set it
	Rank  int               `json:"rank"`
	Local *int              `json:"local_rank,omitempty"`
	Host  string            `json:"host"`
	From  map[string]string `json:"from,omitempty"`
}

// HostsOf builds the document from a finding and its tasks. If the tasks could not be queried, tasks is nil.
func HostsOf(f *launchers.Finding, tasks []rollcall.Task) HostsDocument {
	d := HostsDocument{Launcher: f.Launcher, Why: f.Why, Place: placeOf(&f.Place), Several: f.Place.Several(),
		Warning: f.Lone, Tasks: tasks}
	for _, v := range f.Views {
		l := Launcher{Launcher: v.Launcher, Why: v.Why, Place: placeOf(v.Place), Read: map[string]string{}}
		for _, read := range v.Read {
			l.Read[read.Name] = read.Value
		}
		d.Launchers = append(d.Launchers, l)
	}
	return d
}

func placeOf(p *launchers.Place) *Place {
	if p == nil {
		return nil
	}
	out := &Place{Rank: p.Rank, Host: p.Host, From: map[string]string{}}
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
