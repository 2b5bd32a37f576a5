package screen

import (
	"regexp"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// wrap breaks the lines of a text so that none is wider than width. wrap breaks at spaces, and inside a word only
// if the word alone is wider.
func wrap(text string, width int) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, hang(line, width, 0)...)
	}
	return lines
}

// spaced matches a word with the spaces before it.
var spaced = regexp.MustCompile(` *[^ ]+`)

// hang wraps one line and indents all lines after the first break. hang ignores an indent of half the width or
// more.
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
		word = strings.TrimLeft(word, " ") // drops the spaces at a break
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

// piece returns the start of a word that fits into width, at least one character. If possible, it ends after a
// character that suits a break; otherwise it is as long as possible.
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
