// Package verify compares runs of psbench with reference cases: training runs whose results another implementation
// computed.
package verify

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/internal/quote"
)

// Case is one reference file: a small training run, its expected results and their tolerances. Each kind of case has
// its own type.
type Case interface {
	// Head returns the fields that all kinds of cases share.
	Head() *Header
	// Layer returns the case as a layer of configuration values.
	Layer() config.Layer
	// Expected returns the expected results of the ranks. The caller must not change the lists, which belong to the
	// case.
	Expected() []Expected
	// check returns an error for values that would make the comparison meaningless. All other values are checked like
	// any configuration.
	check(file string) error
}

// kinds maps each kind to a function that returns an empty case.
var kinds = map[string]func() Case{
	"ddp":          func() Case { return &DDP{} },
	"hybrid":       func() Case { return &Hybrid{} },
	"batch_update": func() Case { return &BatchUpdate{} },
	"recorded":     func() Case { return &Recorded{} },
}

// Header holds the fields that all kinds of cases share.
type Header struct {
	Name      string    `json:"name"`
	Kind      string    `json:"kind"` // ddp, hybrid, batch_update or recorded
	Seed      uint64    `json:"seed"`
	Trainer   string    `json:"trainer"`
	NTrainer  int       `json:"ntrainer"`
	NServer   int       `json:"nserver"`
	Tolerance Tolerance `json:"tolerance"`
}

// Head implements Case for the types that embed a Header.
func (h *Header) Head() *Header { return h }

// Tolerance is the allowed deviation of a run. It is relative for losses and sums of squares, and absolute for single
// elements.
type Tolerance struct {
	LossRel       float64 `json:"loss_rel"`
	DeltaHeadAbs  float64 `json:"delta_head_abs"`
	DeltaSumSqRel float64 `json:"delta_sumsq_rel"`
}

// Expected holds the expected results of one rank.
type Expected struct {
	Rank   int         // trainers come first, then servers
	Losses []float64   // one per iteration; nil for a server
	Params []Parameter // nil for a rank whose parameters the file lacks
}

// Parameter describes the change of one tensor by training, delta = final - initial.
type Parameter struct {
	DeltaSum   float64   `json:"delta_sum"`
	DeltaSumSq float64   `json:"delta_sumsq"`
	DeltaHead  []float64 `json:"delta_head"`
	Head       []float64 `json:"head"`
}

//go:embed reference/*.json
var reference embed.FS

// Embedded returns the built-in cases, by name.
func Embedded() ([]Case, error) {
	files, err := fs.Glob(reference, "reference/*.json")
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var cases []Case
	for _, f := range files {
		raw, err := reference.ReadFile(f)
		if err != nil {
			return nil, err
		}
		c, err := parse(path.Base(f), raw)
		if err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// Load reads the case from a file.
func Load(file string) (Case, error) {
	raw, err := jsonfile.Read(file)
	if err != nil {
		return nil, err
	}
	return parse(file, raw)
}

func parse(name string, raw []byte) (Case, error) {
	// A case of an unknown kind has unknown keys too. An error about its kind is clearer.
	fields, err := jsonfile.Map(name, raw)
	if err != nil {
		return nil, err
	}
	kind, given := fields["kind"].(string)
	create, known := kinds[kind]
	switch {
	case known:
	case given:
		return nil, fmt.Errorf("%s: kind is %s but psbench verifies cases of kind %s", quote.Word(name),
			quote.String(kind),
			strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	default:
		return nil, fmt.Errorf("%s has no kind: give %s",
			quote.Word(name), strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	}
	c := create()
	if err := jsonfile.Decode(name, raw, c); err != nil {
		return nil, err
	}
	if err := c.Head().check(quote.Word(name)); err != nil {
		return nil, err
	}
	return c, c.check(quote.Word(name))
}

// title returns the case's name, quoted for printing.
func (h *Header) title() string { return quote.Word(strings.TrimSpace(h.Name)) }

func (h *Header) check(file string) error {
	switch t := h.Tolerance; {
	case h.Name == "":
		return fmt.Errorf("%s has no name", file)
	case t.LossRel <= 0 || t.DeltaHeadAbs <= 0 || t.DeltaSumSqRel <= 0:
		return fmt.Errorf("%s: tolerance needs loss_rel, delta_head_abs and delta_sumsq_rel above 0", file)
	}
	return nil
}

// checkLosses returns an error unless the case has losses for every trainer.
func (h *Header) checkLosses(file string, losses [][]float64) error {
	if len(losses) != h.NTrainer {
		return fmt.Errorf("%s: expect has losses of %d trainers but ntrainer is %d", file, len(losses), h.NTrainer)
	}
	for t, list := range losses {
		if len(list) == 0 {
			return fmt.Errorf("%s: expect has no loss of trainer%d", file, t)
		}
	}
	return nil
}

// layer returns a configuration layer with the values of the head and of the case's kind.
func (h *Header) layer(values map[string]any) config.Layer {
	maps.Copy(values, map[string]any{
		"trainer": h.Trainer, "ntrainer": h.NTrainer, "nserver": h.NServer, "torch_seed": h.Seed,
	})
	return config.Layer{Origin: "case " + h.title(), Values: values}
}
