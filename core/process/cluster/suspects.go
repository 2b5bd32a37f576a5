package cluster

import (
	"fmt"
	"slices"
	"strings"
)

// mostSuspects limits how many processes an error describes.
const mostSuspects = 3

// introduce extends err, the failure of a run. For each process in names that runs a user's plugin, it adds the plugin
// and the process's last output. introduce skips psbench's own processes, because their names say enough. The error of
// a process that died already contains the last output.
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

// said returns the last output of the process as the end of a sentence. If the sentence already contains the exception,
// said returns only where in the plugin the exception was raised.
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

// introduction says which part of which plugin the process runs.
func (m *Member) introduction() string {
	return fmt.Sprintf("%s is %s of plugin %s", m.Name, m.Part, m.Plugin.Name)
}

// Warnings returns the run's warnings; call it after Run. Warnings warns about hosts without processes, and about what
// parts left running after they were closed. Processes with the same part share one sentence.
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
			fmt.Sprintf("%s, and leaves running after its Close or the end of its pass: %s", m.introduction(),
				m.left))
	}
	return warnings
}

// speaks reports whether text contains a message that begins with the name of the process. The message of a companion
// may be inside its trainer's message. A name in the middle of a sentence does not count.
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
