package view

import (
	"strings"

	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/internal/screen"
)

// These are the maximum sizes of one log and of all logs together, in bytes.
const (
	tailBytes   = 4 << 10
	mostLogText = 300 << 10
)

// addLogs adds the ends of the logs of failed runs while there is room. The first failure of each cell comes first,
// then each second failure, and so on. Void rows of psbench comm get no logs, because their processes did not fail.
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
				if l.Cut { // start at a line start if there is one
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
