package view

import (
	"reflect"

	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/internal/quote"
)

// Maker makes documents of a sweep, or of a run, while it goes on: of what it has read once, it reads nothing
// again. It is for one goroutine.
type Maker struct {
	path    string
	options Options
	loader  *model.Loader
	details map[*model.Run]*Detail // of the last document
}

// NewMaker is a maker of documents of the folder of a sweep or of a run, which l reads.
func NewMaker(l *model.Loader, path string, o Options) *Maker {
	return &Maker{path: path, options: o, loader: l}
}

// Document is the folder as it is now. A document of a run that has not come to its end has no cell.
func (m *Maker) Document(live *Live) (*Document, error) {
	s, err := m.load()
	if err != nil {
		return nil, err
	}
	k := newMaker(s, m.options)
	k.before = m.details
	d, err := k.document()
	if err != nil {
		return nil, err
	}
	m.details = k.details
	if live != nil {
		l := live.Tidy()
		d.Live = &l
	}
	return d, nil
}

// Tidy is a copy that every page can take, as documents are: what is not finite is null or 0, and of texts
// there is nothing hidden.
func (l Live) Tidy() Live { return tidied(reflect.ValueOf(l)).Interface().(Live) }

func (m *Maker) load() (*model.Study, error) {
	if !sweep.IsSweep(m.path) {
		if status, err := folder.StatusOf(m.path); err != nil || status.Reason == result.Running {
			// The run has left nothing to read yet.
			return &model.Study{Name: quote.Word(m.path), Title: model.TitleOf(m.path)}, nil
		}
	}
	return m.loader.Load([]string{m.path})
}
