//go:build !race

package main

import (
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// endOfCommand matches the end of a command on a page: a pipe, another command or a comment.
var endOfCommand = regexp.MustCompile(`\s+(\||>>?|<|&&|;|#|&|2>).*$`)

// Every command on a page uses existing flags and subcommands. TestPluginsGuide and TestPythonGuide run the commands
// of the guides, and CI runs the commands of the README.
func TestCommandsOfPages(t *testing.T) {
	pages := []string{"README.md", "CONTRIBUTING.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root(t), pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			page, err := filepath.Rel(root(t), path)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, page)
		}
	}
	count := 0
	for _, page := range pages {
		for _, command := range commandsOf(readPage(t, page)) {
			count++
			t.Run(page+"/"+command, func(t *testing.T) {
				said := new(strings.Builder)
				a := &app{stdout: io.Discard, stderr: said}
				if status := a.run(t.Context(), askingHelp(arguments(command))); status != 0 {
					t.Errorf("%s shows the command %q, of which psbench says: %s", page, command, said)
				}
			})
		}
	}
	if count < 100 {
		t.Errorf("found %d commands on the pages: the pattern of this test no longer fits them", count)
	}
}

// commandsOf returns the lines in a page's code blocks that call psbench, without placeholders.
func commandsOf(page string) []string {
	var commands []string
	for _, found := range block.FindAllStringSubmatch(page, -1) {
		if found[2] != "sh" {
			continue
		}
		for line := range strings.Lines(strings.ReplaceAll(found[3], "\\\n", " ")) {
			line = endOfCommand.ReplaceAllString(strings.TrimSpace(line), "")
			rest, ok := strings.CutPrefix(line, "psbench ")
			if ok && !strings.ContainsAny(rest, "$…[") && !slices.Contains(commands, rest) {
				commands = append(commands, rest)
			}
		}
	}
	return commands
}

// askingHelp turns a command into one that parses its words and only prints help. Words after -- belong to another
// command.
func askingHelp(words []string) []string {
	at := slices.Index(words, "--")
	if at < 0 {
		at = len(words)
	}
	return slices.Insert(words, at, "--help")
}

// arguments splits a command into words as a shell does. Quotes may enclose only whole words.
func arguments(command string) []string {
	var words []string
	for _, word := range regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`).FindAllString(command, -1) {
		words = append(words, strings.Trim(word, `'"`))
	}
	return words
}
