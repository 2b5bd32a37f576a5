package view

import (
	"cmp"
	"path/filepath"
	"time"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/core/study/words"
)

// Options choose how a study is shown first. The zero value is the default.
type Options struct {
	// Metric is what cells are compared by, "" for that of the study.
	Metric string
	// Target is a value to be reached, e.g. "auc=0.80"; "" for none.
	Target string
	// Made is when the document is made, and Psbench what makes it: now and this program where they are zero.
	Made    time.Time
	Psbench string
}

// Of makes the document of a study. Beside the study it reads the folders of the runs that have details, of
// which each cell has two at most, and the logs of failed ones. A folder that cannot be read any more is a
// warning.
func Of(s *model.Study, o Options) (*Document, error) { return newMaker(s, o).document() }

// maker makes one document.
type maker struct {
	study   *model.Study
	options Options
	metric  model.Metric
	doc     *Document
	cells   []*model.Cell // as in doc.Cells
	places  map[*model.Run]int
	// before are details that were read for another document; details are those of this one, by run.
	before, details map[*model.Run]*Detail
	which           string // runs have details, in words
}

func newMaker(s *model.Study, o Options) *maker {
	return &maker{study: s, options: o, cells: s.All(), places: map[*model.Run]int{}, details: map[*model.Run]*Detail{}}
}

func (m *maker) document() (*Document, error) {
	metric, err := m.study.MetricOr(m.options.Metric)
	if err != nil {
		return nil, err
	}
	answer, err := words.Sentences(m.study, metric, m.options.Target)
	if err != nil {
		return nil, err
	}
	m.metric = metric
	m.doc = &Document{
		Schema: Schema, Name: m.study.Name, Title: cmp.Or(m.study.Title, m.study.Name),
		Heading: words.Heading(m.study, metric), Machine: words.Machine(m.study),
		Made: m.options.Made, Psbench: m.options.Psbench, Metric: metric.Name, Baseline: -1, Within: m.study.Within,
		Warnings: words.Warnings(m.study),
	}
	if m.doc.Made.IsZero() {
		m.doc.Made = time.Now().Round(0)
	}
	if m.doc.Psbench == "" {
		m.doc.Psbench = result.Version() + " " + result.Commit()
	}
	m.say(answer)
	for _, a := range m.study.Axes {
		m.doc.Axes = append(m.doc.Axes, Axis(a))
	}
	m.addRuns()
	m.addMetrics()
	m.addCells()
	m.judge()
	if err := m.addComm(); err != nil {
		return nil, err
	}
	m.addLogs()
	m.addDetails()
	m.bound()
	return tidy(m.doc), nil
}

// say adds the answer and what else psbench show says.
func (m *maker) say(answer []words.Sentence) {
	for _, a := range answer {
		m.doc.Sentences = append(m.doc.Sentences, Sentence(a))
	}
	if len(m.study.Cells) == 0 {
		return
	}
	m.doc.Baseline = m.study.Baseline
	for _, r := range words.Remarks(m.study, verdict.TableOf(m.study, m.metric)) {
		m.doc.Remarks = append(m.doc.Remarks, Sentence(r))
	}
}

// addMetrics adds those that runs have, and the one that they are compared by in any case.
func (m *maker) addMetrics() {
	have := map[string]bool{m.metric.Name: true}
	for _, c := range m.cells {
		for _, r := range c.Runs {
			for name := range r.Values {
				have[name] = true
			}
		}
	}
	for _, metric := range model.Metrics {
		if have[metric.Name] {
			m.doc.Metrics = append(m.doc.Metrics, Metric{metric.Name, metric.Unit, string(metric.Better), metric.Means})
		}
	}
}

// path is where the folder of a run lies.
func (m *maker) path(folder string) string {
	if m.study.Folder == "" || filepath.IsAbs(folder) {
		return folder
	}
	return filepath.Join(m.study.Folder, folder)
}

// name is a run's folder within that of its sweep, or where it lies.
func (m *maker) name(folder string) string {
	if m.study.Folder == "" {
		return folder
	}
	if within, err := filepath.Rel(m.study.Folder, folder); err == nil && filepath.IsLocal(within) {
		return within
	}
	return folder
}
