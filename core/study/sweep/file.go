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

// Schema is the format name of the plan's file.
const Schema = "psbench.sweep/1"

// PlanFile is the name of the plan's file in a sweep folder.
const PlanFile = "sweep.json"

// HostsFile is the name of the file in a sweep folder from which runs read the plan's hosts. The file exists only if
// the plan has hosts.
const HostsFile = "hosts.txt"

// onDisk is the content of the plan's file.
type onDisk struct {
	Schema string `json:"schema"`
	Plan
}

// IsSweep reports whether dir is a sweep folder, i.e. contains a plan.
func IsSweep(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, PlanFile))
	return err == nil && info.Mode().IsRegular()
}

// ConfigFile returns the path of the cell's configuration file, relative to the sweep folder.
func (c Cell) ConfigFile() string { return filepath.Join("cells", c.ID+".json") }

// Write writes the plan and the cells' configuration files into the sweep folder dir and replaces an earlier plan. It
// replaces the plan's file last and atomically. The folder therefore always has a complete plan, old or new, with all
// configuration files of its cells.
func (p *Plan) Write(dir string) error {
	if err := p.check(); err != nil {
		return err
	}
	text, err := encode(onDisk{Schema, *p})
	if err == nil && len(text) > jsonfile.MaxMiB<<20 {
		err = fmt.Errorf("the plan of %d cells has more than %d MiB, the most that psbench reads: divide the sweep",
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

// Read reads the plan of a sweep folder. It returns an error if a file was edited after Write wrote it.
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

// parse decodes and checks the plan's file. path names the file in errors.
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
