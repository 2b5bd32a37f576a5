package view

import (
	"strings"

	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/internal/screen"
)

// The most bytes of one log, and of all logs together.
const (
	tailBytes   = 4 << 10
	mostLogText = 300 << 10
)

// addLogs adds the ends of the logs of failed runs: of the first failure of each cell, then of the second
// ones, for as long as there is room. A row of psbench comm that is void has none: nothing is amiss with its
// processes.
func (m *maker) addLogs() {
	if m.doc.Comm != nil {
		return
	}
	room, left := mostLogText, 0
	for k, more := 0, true; more; k++ {
		more = false
		for i := range m.doc.Cells {
			failed := m.doc.Cells[i].Failed
			if k >= len(failed) {
				continue
			}
			more = true
			if room <= 0 {
				left++
				continue
			}
			for _, l := range folder.Logs(m.path(m.cells[i].Failed[k].Folder), tailBytes) {
				text := strings.ReplaceAll(l.Tail, "\r\n", "\n")
				if l.Cut { // from the start of a line, if there is one
					_, lines, ok := strings.Cut(text, "\n")
					if ok && lines != "" {
						text = lines
					}
				}
				failed[k].Logs = append(failed[k].Logs, Log{l.Process, text, l.Cut})
				room -= len(text)
			}
		}
	}
	if left > 0 {
		m.note(screen.Count(left, "failed run") + " without logs on the page; their folders have them")
	}
}
