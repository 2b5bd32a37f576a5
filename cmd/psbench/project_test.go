//go:build !race

package main

import (
	"strings"
	"testing"

	"github.com/psbench/psbench/core/author/scaffold"
)

// The test runs the commands of each kind's page as written, in an empty folder. The first command creates a project.
// The commands on the project's own page test and build it unchanged. The second command measures it, and further
// commands may follow. The reader has only Go's module cache.
func TestPagesOfKinds(t *testing.T) {
	for _, kind := range scaffold.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			var commands []string
			for _, found := range block.FindAllStringSubmatch(readPage(t, "docs/plugins/"+kind.Name+".md"), -1) {
				if found[2] == "sh" {
					commands = append(commands, found[3])
				}
			}
			if len(commands) < 2 {
				t.Fatalf("the page has %d blocks of commands: the pattern of this test no longer fits it",
					len(commands))
			}
			_, name, _ := strings.Cut(strings.TrimSpace(commands[0]), "psbench plugin new "+kind.Name+" ")
			own := scaffold.Project{Kind: kind, Name: name}.Try()
			if strings.TrimSpace(commands[1]) != own[2] {
				t.Errorf("the page measures %s by\n%sbut the page of the project itself by\n%s", name, commands[1],
					own[2])
			}
			r := newReader(t)
			r.run(t, commands[0])
			r.run(t, "cd "+name+"\n"+own[0]+"\n"+own[1])
			if printed := r.run(t, commands[1]); !strings.Contains(printed, "\nloss ") {
				t.Errorf("no loss is shown of it:\n%s", printed)
			}
			for _, more := range commands[2:] {
				r.run(t, more)
			}
		})
	}
}

// The commands on a Python project's own page test and measure it unchanged. The guide already covers the project of
// a hook.
func TestProjectsInPython(t *testing.T) {
	path := withPython(t)
	for _, kind := range scaffold.Kinds {
		if kind.In(scaffold.Python) != nil || kind.Name == "hook" {
			continue
		}
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			r := newReader(t)
			r.onPath(path)
			r.run(t, "psbench plugin new "+kind.Name+" mine --lang python\ncd mine")
			own := scaffold.Project{Kind: kind, Language: scaffold.Python, Name: "mine"}.Try()
			if tested := r.run(t, own[0]+" 2>&1"); !strings.Contains(tested, "\nOK") {
				t.Errorf("its test says\n%s", tested)
			}
			if printed := r.run(t, own[1]+" --warmup none"); !strings.Contains(printed, "\nloss ") {
				t.Errorf("no loss is shown of it:\n%s", printed)
			}
		})
	}
}
