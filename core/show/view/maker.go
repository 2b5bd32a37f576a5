package view

import (
	"reflect"

	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/internal/quote"
)

// Maker makes documents of a sweep or a run while it goes on. Each completed run is read only once. A Maker is not
// safe for concurrent use.
type Maker struct {
	path    string
	options Options
	loader  *model.Loader
	details map[*model.Run]*Detail // of the last document
}

// NewMaker returns a Maker for the folder of a sweep or a run. The loader l reads the folder.
func NewMaker(l *model.Loader, path string, o Options) *Maker {
	return &Maker{path: path, options: o, loader: l}
}

// Document returns the current content of the folder. The document of an unfinished run has no cells.
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

// Tidy returns a copy that every page can show. Values that are not finite become null or 0, and texts contain no
// hidden characters.
func (l Live) Tidy() Live { return tidied(reflect.ValueOf(l)).Interface().(Live) }

func (m *Maker) load() (*model.Study, error) {
	if !sweep.IsSweep(m.path) {
		if status, err := folder.StatusOf(m.path); err != nil || status.Reason == result.Running {
			// The run has not written a result yet.
			return &model.Study{Name: quote.Word(m.path), Title: model.TitleOf(m.path)}, nil
		}
	}
	return m.loader.Load([]string{m.path})
}
