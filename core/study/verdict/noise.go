package verdict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// NoiseSchema is the format name of the file that psbench noise writes.
const NoiseSchema = "psbench.noise/1"

// Noise records how runs of one experiment differ on a machine, within sessions and between sessions.
type Noise struct {
	Schema  string            `json:"schema"`
	Started time.Time         `json:"started"`
	Machine Machine           `json:"machine"`
	Config  map[string]string `json:"config"` // settings of the experiment, without seeds and outputs
	// Sessions are groups of runs, each measured without a pause.
	Sessions []Session `json:"sessions"`
}

// Machine identifies a machine. A noise floor is valid only on the machine that it was measured on.
type Machine struct {
	CPU       string `json:"cpu"`
	Cores     int    `json:"cores"`
	MemoryMiB int64  `json:"memory_mib"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
}

// MachineOf returns the machine that an environment describes.
func MachineOf(e result.Environment) Machine {
	return Machine{CPU: e.CPU, Cores: e.Cores, MemoryMiB: e.MemoryMiB, OS: e.OS, Arch: e.Arch}
}

// Session holds runs of one experiment that were made one after the other.
type Session struct {
	Started time.Time `json:"started"`
	// Runs holds the metrics of each run by name.
	Runs     []map[string]float64 `json:"runs"`
	Warnings []string             `json:"warnings,omitempty"`
}

// Of returns the values of a metric. Runs without the metric are left out.
func (s Session) Of(metric string) []float64 {
	var values []float64
	for _, run := range s.Runs {
		if v, ok := run[metric]; ok {
			values = append(values, v)
		}
	}
	return values
}

// Between returns the floor of changes between sessions; see judge.SessionFloor.
func (n *Noise) Between(metric string) (judge.Floor, error) {
	var medians []float64
	for _, s := range n.Sessions {
		if values := s.Of(metric); len(values) > 0 {
			medians = append(medians, judge.Of(values).Median)
		}
	}
	return judge.SessionFloor(medians)
}

// Within returns the largest floor of changes within a session.
func (n *Noise) Within(metric string) (judge.Floor, error) {
	var largest judge.Floor
	for _, s := range n.Sessions {
		floor, err := judge.FloorOf(s.Of(metric), 0)
		if err != nil {
			return judge.Floor{}, err
		}
		if floor.Change >= largest.Change {
			largest = floor
		}
	}
	return largest, nil
}

// Apart returns the floor between sessions. It applies to runs that were measured in different sessions. ok is false if
// a study ran on another machine, or if there are too few sessions for a floor.
func (n *Noise) Apart(metric string, studies ...*model.Study) (apart Apart, ok bool) {
	for _, s := range studies {
		for _, c := range s.Measured() {
			if slices.ContainsFunc(c.Runs, func(r *model.Run) bool { return MachineOf(r.Environment) != n.Machine }) {
				return Apart{}, false
			}
		}
	}
	floor, err := n.Between(metric)
	if err != nil {
		return Apart{}, false
	}
	return Apart{floor,
		fmt.Sprintf("%d sessions of psbench noise on %s", len(n.Sessions), n.Started.Format(time.DateOnly))}, true
}

// ReadNoise reads a file that Write wrote. It returns an error if the file has another schema.
func ReadNoise(path string) (*Noise, error) {
	data, err := jsonfile.Read(path)
	if err != nil {
		return nil, err
	}
	n := &Noise{}
	if err := jsonfile.Decode(path, data, n); err != nil {
		return nil, err
	}
	if n.Schema != NoiseSchema {
		return nil, fmt.Errorf("file %s has the schema %s but must have %s", quote.Word(path), quote.String(n.Schema),
			NoiseSchema)
	}
	return n, nil
}

// Write writes n to a file atomically.
func (n *Noise) Write(path string) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "\t")
	if err := e.Encode(n); err != nil {
		return fmt.Errorf("the noise cannot be written to %s: %w", quote.Word(path), err)
	}
	return draft.Write(path, text.Bytes())
}

// sessionOf returns the session that a sweep with one cell and its A/A cell measured.
func sessionOf(s *model.Study) Session {
	out := Session{Runs: []map[string]float64{}}
	said := map[string]int{}
	var order []string
	for _, c := range append(s.Measured(), s.Again) {
		if c == nil {
			continue
		}
		for _, r := range c.Runs {
			if out.Started.IsZero() || r.Started.Before(out.Started) {
				out.Started = r.Started
			}
			out.Runs = append(out.Runs, r.Values)
			for _, w := range r.Warnings {
				if said[noteOf(w).kind]++; said[noteOf(w).kind] == 1 {
					order = append(order, w)
				}
			}
		}
	}
	for _, w := range order {
		if n := said[noteOf(w).kind]; n > 1 {
			w = fmt.Sprintf("%s (so or alike in %d of %d runs)", w, n, len(out.Runs))
		}
		out.Warnings = append(out.Warnings, w)
	}
	out.Warnings = append(out.Warnings, s.Warnings...)
	return out
}

// Add adds the session of a sweep. The first session sets the experiment and the machine. Add returns an error if a
// later session ran on another machine, or if the sweep does not have exactly one measured cell.
func (n *Noise) Add(s *model.Study) error {
	measured := s.Measured()
	if len(measured) != 1 {
		return fmt.Errorf("%s has no completed run, or more than one experiment, so it shows no noise",
			s.Name)
	}
	first := measured[0]
	session, machine := sessionOf(s), MachineOf(first.Runs[0].Environment)
	switch {
	case len(n.Sessions) == 0:
		n.Schema, n.Started, n.Machine, n.Config = NoiseSchema, session.Started, machine, first.Config
	case machine != n.Machine:
		return fmt.Errorf(
			"%s was measured on another machine, with %d cores of %s, than the first session, with %d of %s",
			s.Name, machine.Cores, machine.CPU, n.Machine.Cores, n.Machine.CPU)
	}
	n.Sessions = append(n.Sessions, session)
	return nil
}
