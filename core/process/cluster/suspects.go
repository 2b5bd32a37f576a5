package cluster

import (
	"fmt"
	"slices"
	"strings"
)

// mostSuspects bounds how many processes are introduced.
const mostSuspects = 3

// introduce adds to err, which ended a run, what those are of the processes that it is about
// which a plugin of the user's runs, and what they said last. psbench's own are known by their
// names; how a process died its last words are part of.
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

// said is what the process said last, to be added to a sentence: of an exception that the sentence has
// already, where in the plugin that was, if it was there.
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

// introduction is what the process is.
func (m *Member) introduction() string {
	return fmt.Sprintf("%s is %s of plugin %s", m.Name, m.Part, m.Plugin.Name)
}

// Warnings say, once Run is over, where no process was, and what parts left running when they were closed: one
// sentence for processes of the same part.
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

// speaks says whether a part of text is what the process of that name said: a companion, in the
// words of its trainer. A word in the middle of a sentence is none.
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
