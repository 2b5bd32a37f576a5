package words

import (
	"fmt"
	"strings"

	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/screen"
)

// summary is the beginning of an answer. It states what is proven and recommends cells. One more sentence states what
// is not proven and how many runs would prove it.
type summary struct {
	proven   []string
	choices  []string // the cells that may be best, for each work
	works    int      // contests that have rivals
	open     []*verdict.Contest
	unproven []string // other facts that are not proven
}

// add adds a contest to the summary. It returns false if the contest has no rivals and therefore nothing to prove.
func (y *summary) add(o *verdict.Contest) bool {
	if o.Best == nil || len(o.Cells) < 2 {
		return false
	}
	work := ""
	if o.Name != "" {
		work = o.Name + ": "
	}
	y.works++
	names := []string{title(o, o.Best)}
	for _, r := range o.Open() {
		names = append(names, r.Cell.Name)
	}
	if len(names) > 1 {
		text := work + "any of " + named(names)
		if worse := len(o.Rivals) - len(o.Open()); worse > 0 {
			text += fmt.Sprintf(" (%s proven worse)", are(worse, "other"))
		}
		y.open, y.choices = append(y.open, o), append(y.choices, text)
		return true
	}
	y.proven = append(y.proven, winner(o))
	y.choices = append(y.choices, work+names[0])
	return true
}

// sentences returns the sentences of the summary. None of them is a detail.
func (y *summary) sentences() []Sentence {
	var out []Sentence
	for i, text := range y.proven {
		if i == mostWorks {
			more := "and " + screen.Count(len(y.proven)-i, "more fact")
			out = append(out, Sentence{Label: "proven", Text: more})
			break
		}
		out = append(out, Sentence{Label: "proven", Text: text})
	}
	if len(y.choices) > 0 {
		text := strings.Join(y.choices[:min(len(y.choices), mostNamed)], "; ")
		if more := len(y.choices) - mostNamed; more > 0 {
			text += fmt.Sprintf("; and %s, which the table shows", screen.Count(more, "more work"))
		}
		out = append(out, Sentence{Label: "recommended", Text: text})
	}
	if text := y.openText(); text != "" {
		out = append(out, Sentence{Label: "not proven", Text: text})
	}
	return out
}

// openText states what is not proven. The first open contest serves as an example.
func (y *summary) openText() string {
	var parts []string
	if len(y.open) > 0 {
		o := y.open[0]
		next := o.Open()[0]
		text := "which cell is best"
		if y.works > 1 {
			text += fmt.Sprintf(" for %d of %s, e.g. %s", len(y.open), screen.Count(y.works, "work"), o.Name)
		}
		parts = append(parts, fmt.Sprintf("%s: %s leads %s%s; %s", text, o.Best.Name, next.Cell.Name, by(o, next),
			toTell(o, next)))
	}
	return strings.Join(append(parts, y.unproven...), "; ")
}

// by states how far the best cell of a contest leads a rival, and the probability that chance caused the lead. It
// returns "" if this is unknown.
func by(o *verdict.Contest, r verdict.Rival) string {
	change := changeText(o.Metric, r.Change)
	if change == "-" {
		return ""
	}
	return fmt.Sprintf(" (%s, %s)", change, probability(r.Change.Adjusted))
}
