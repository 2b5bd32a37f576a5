package screen

import (
	"regexp"
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

// spaced matches a word with the spaces before it.
var spaced = regexp.MustCompile(` *[^ ]+`)

// hang is wrap of one line whose first break all others are indented after. An indent of
// half the width or more is none.
func hang(line string, width, indent int) []string {
	fits := func(text string) bool { return twwidth.Width(text) <= width }
	if fits(line) {
		return []string{line}
	}
	margin := ""
	if indent < width/2 {
		margin = strings.Repeat(" ", indent)
	}
	var lines []string
	current := ""
	for _, word := range spaced.FindAllString(line, -1) {
		if fits(current + word) {
			current += word
			continue
		}
		word = strings.TrimLeft(word, " ") // the spaces at a break go
		if current != "" {
			lines, current = append(lines, current), margin
		}
		for !fits(current + word) {
			head := piece(word, width-twwidth.Width(current))
			lines, current, word = append(lines, current+head), margin, word[len(head):]
		}
		current += word
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
