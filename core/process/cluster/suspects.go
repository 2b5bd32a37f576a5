package cluster

import (
	"fmt"
	"slices"
	"strings"
)

// mostSuspects limits the processes that are introduced.
const mostSuspects = 3

// introduce adds to err, which ended a run, what the processes of names are and what they said last, if a user's
// plugin runs them. psbench's own processes are known by their names. The death of a process already includes its
// last words.
func (c *Cluster) introduce(err error, names []string) error {
	named := func(name string) bool { return slices.Contains(names, name) || err != nil && speaks(name, err.Error()) }
	var told []string
	for _, m := range c.members {
		if len(m.Plugin.Command) == 0 || !named(m.Name) && (m.Host == "" || !named(m.Host)) ||
			len(told) == mostSuspects {
			continue
		}
		text := m.introduction()
		if m.Process != nil && !m.exited() && err != nil {
			text += m.said(err.Error())
		}
		told = append(told, text)
	}
	if err == nil || len(told) == 0 {
		return err
	}
	return fmt.Errorf("%w; %s", err, strings.Join(told, "; "))
}

// said returns what the process said last, to be added to a sentence. If the sentence already has the exception, it
// returns where in the plugin the exception was raised.
func (m *Member) said(sentence string) string {
	what, where := m.Raised()
	switch said := m.LastWords(); {
	case what != "" && strings.Contains(sentence, what):
		if where != "" {
			return ", which raised that in " + where
		}
	case said != "":
		return ", which said last: " + said
	}
	return ""
}

// introduction says what the process is.
func (m *Member) introduction() string {
	return fmt.Sprintf("%s is %s of plugin %s", m.Name, m.Part, m.Plugin.Name)
}

// Warnings returns, after Run, warnings about hosts without processes and about what parts left running after they
// were closed; one sentence for all processes of the same part.
func (c *Cluster) Warnings() (warnings []string) {
	if c.options.Apart {
		warnings = append(warnings,
			"no process ran on the core's host, but the result has the machine, noise and variables of that host")
	}
	type part struct{ plugin, title string }
	var told []part
	for _, m := range c.members {
		p := part{m.Plugin.Name, m.Part}
		if m.left == "" || slices.Contains(told, p) {
			continue
		}
		told = append(told, p)
		warnings = append(warnings,
			fmt.Sprintf("%s, and leaves running what its Close, or the end of its pass, must end: %s", m.introduction(),
				m.left))
	}
	return warnings
}

// speaks reports whether a part of text is the message of the named process, or of a companion in its trainer's
// words. A name inside a sentence does not count.
func speaks(name, text string) bool {
	for {
		before, after, found := strings.Cut(text, name+": ")
		if !found {
			return false
		}
		if before == "" || strings.HasSuffix(before, ": ") || strings.HasSuffix(before, "; ") {
			return true
		}
		text = after
	}
}
