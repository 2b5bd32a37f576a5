package screen

import (
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// wrap breaks the lines of a text so that none is wider than width: at spaces, and inside
// a word only where that is wider alone.
func wrap(text string, width int) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, hang(line, width, 0)...)
	}
	return lines
}

// hang is wrap of one line whose first break all others are indented after.
func hang(line string, width, indent int) []string {
	if twwidth.Width(line) <= width {
		return []string{line}
	}
	if indent >= width/2 {
		indent = 0
	}
	// Spaces at the start and between a label and its text stay.
	var lines []string
	current, gap := "", ""
	for rest := line; rest != ""; {
		word := rest
		if i := strings.IndexByte(strings.TrimLeft(rest, " "), ' '); i >= 0 {
			word = rest[:len(rest)-len(strings.TrimLeft(rest, " "))+i]
		}
		rest = rest[len(word):]
		gap, word = word[:len(word)-len(strings.TrimLeft(word, " "))], strings.TrimLeft(word, " ")
		for twwidth.Width(current+gap+word) > width {
			if strings.TrimLeft(current, " ") == "" {
				if current += gap; twwidth.Width(current) >= width {
					current = ""
				}
				head := piece(word, width-twwidth.Width(current))
				lines, word = append(lines, current+head), word[len(head):]
			} else {
				lines = append(lines, current)
			}
			current, gap = strings.Repeat(" ", indent), ""
		}
		current += gap + word
	}
	if current = strings.TrimRight(current, " "); current == "" && lines != nil {
		return lines
	}
	return append(lines, current)
}

// piece is the start of a word that fits into width, at least one character: up to the last
// sign after which words break best, or as much as there is room for.
func piece(word string, width int) string {
	room, end := 0, 0
	for i, r := range word {
		w := twwidth.Width(string(r))
		if i > 0 && room+w > width {
			break
		}
		room, end = room+w, i+len(string(r))
	}
	for _, signs := range []string{",/", "_="} {
		if i := strings.LastIndexAny(word[:end], signs); i > 0 && end < len(word) {
			return word[:i+1]
		}
	}
	return word[:end]
}
