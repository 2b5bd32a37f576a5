package sweep

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// Schema names the form of the plan's file.
const Schema = "psbench.sweep/1"

// PlanFile is the plan's file in the folder of a sweep.
const PlanFile = "sweep.json"

// HostsFile has the hosts of the plan in the folder of a sweep, if it has some, as runs read them.
const HostsFile = "hosts.txt"

// onDisk is a plan in its file.
type onDisk struct {
	Schema string `json:"schema"`
	Plan
}

// IsSweep says whether a folder is that of a sweep.
func IsSweep(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, PlanFile))
	return err == nil && info.Mode().IsRegular()
}

// ConfigFile is the configuration file of a cell in the folder of a sweep.
func (c Cell) ConfigFile() string { return filepath.Join("cells", c.ID+".json") }

// Write writes the plan and the configuration files of its cells into the folder of a sweep, and
// replaces what was planned there. The plan comes last and in one step: a folder has the old plan
// or the new one, with all the files of its cells.
func (p *Plan) Write(dir string) error {
	if err := p.check(); err != nil {
		return err
	}
	text, err := encode(onDisk{Schema, *p})
	if err == nil && len(text) > jsonfile.MaxMiB<<20 {
		err = fmt.Errorf("the plan of %d cells has more than %d MiB, which is the most that is read: divide the sweep",
			len(p.Cells), jsonfile.MaxMiB)
	}
	if err != nil {
		return err
	}
	cells := filepath.Join(dir, "cells")
	if err := os.MkdirAll(cells, 0o777); err != nil { // #nosec G301 -- as the user's umask has it
		return notWritten(dir, err)
	}
	for _, i := range p.Running() {
		if err := p.Cells[i].write(dir); err != nil {
			return err
		}
	}
	if len(p.Hosts) > 0 {
		if err := writeFile(filepath.Join(dir, HostsFile), []byte(strings.Join(p.Hosts, "\n")+"\n")); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(dir, PlanFile), text)
}

func (c Cell) write(dir string) error {
	text, err := encode(c.Config)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, c.ConfigFile()), text)
}

// Read reads the plan of a sweep's folder. What is not as Write left it is an error.
func Read(dir string) (*Plan, error) {
	path := filepath.Join(dir, PlanFile)
	data, err := jsonfile.Read(path)
	if err != nil {
		return nil, err
	}
	p, err := parse(path, data)
	if err != nil {
		return nil, err
	}
	for _, i := range p.Running() {
		c := p.Cells[i]
		path := filepath.Join(dir, c.ConfigFile())
		config, err := jsonfile.ReadMap(path)
		if err != nil {
			return nil, err
		}
		if hash(config) != hash(c.Config) {
			return nil, fmt.Errorf("%s is not the configuration of cell %s that %s has: a file was edited",
				quote.Word(path), quote.String(c.Name), PlanFile)
		}
	}
	return p, nil
}

// parse reads the text of a plan's file.
func parse(path string, data []byte) (*Plan, error) {
	var f onDisk
	var head struct{ Schema string }
	if json.Unmarshal(data, &head) == nil && head.Schema != Schema {
		return nil, fmt.Errorf("%s has the schema %s, but this psbench reads %s", quote.Word(path),
			quote.String(head.Schema), Schema)
	}
	if err := jsonfile.Decode(path, data, &f); err != nil {
		return nil, err
	}
	p := &f.Plan
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", quote.Word(path), err)
	}
	return p, nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

func writeFile(path string, text []byte) error {
	if err := draft.Write(path, text); err != nil {
		return notWritten(path, err)
	}
	return nil
}

func notWritten(path string, err error) error {
	return fmt.Errorf("%s cannot be written: %w", quote.Word(path), draft.Cause(err))
}
