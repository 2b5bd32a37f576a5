package psbench_test

import (
	"regexp"
	"slices"
	"testing"
)

// hard is a phrase that readers had to read twice. The pattern finds the phrase, bad is an example sentence, and good
// is the plain version.
type hard struct{ pattern, bad, good string }

var hards = []hard{
	{`\bthat of (the|a|an|its|this|these|each|every|another)\b`,
		"The lock is that of the folder.", "The lock belongs to the folder."},
	{`\bof (that|those) [a-z]+ing\b`, "of that waiting", "straggler wait"},
	{`\bwhich there (is|are)\b`, "bucket 7, which there is not", "unknown bucket 7"},
	{`\bwhat there (is|are)\b`, "psbench list prints what there is", "psbench list prints all keys"},
	{`\b(is|are|was|were|be|been) told\b`, "A server is told of the end.", "psbench notifies the server of the end."},
	{`\bas far as\b`, "It runs on arm64 as far as an emulator shows.", "It runs on arm64 in an emulator."},
	{`^(Of (the|a|an|what|all|those|these|which)|Nor|So (does|do|is|are)|Beside) [a-z].*\.$`,
		"Of the others each has a row.", "Each of the others has a row."},
	{`^(Who|Whoever) [a-z].*\.$`, "Who waits looks at the words.", "A waiter polls the words."},
	{`^What [^?]* (is|are|has|have|goes|comes|says|lies|stands) [^?]*\.$`,
		"What is pushed is kept.", "The server keeps each push. What is pushed?"},
	{`\b(to|for|by|so that|than|of) who(ever)? [a-z]+s\b`,
		"so that who stops reading stops nobody", "so a stalled reader blocks no one"},
	{`\bof which there (is|are)\b`, "it is run by a program, of which there is no checksum", "the program has no checksum"},
	{`\bcannot be (had|told apart from)\b`, "a lock that cannot be had", "another psbench holds the lock"},
	{`\b[Ww]hat (it|they|this) comes? to\b`, "What it comes to", "The answer"},
}

func TestWordsAreEasy(t *testing.T) {
	patterns := make([]*regexp.Regexp, len(hards))
	for k, h := range hards {
		patterns[k] = regexp.MustCompile(h.pattern)
		t.Run(h.bad, func(t *testing.T) {
			if !patterns[k].MatchString(h.bad) {
				t.Errorf("%s does not find %q", h.pattern, h.bad)
			}
			if patterns[k].MatchString(h.good) {
				t.Errorf("%s finds %q", h.pattern, h.good)
			}
		})
	}
	all := sentences(t)
	for _, s := range slices.Concat(all[ofDocs], all[ofTexts]) {
		if s.where == "docs/performance.md" { // this page keeps its history
			continue
		}
		for k, pattern := range patterns {
			if found := pattern.FindString(s.text); found != "" {
				t.Errorf("%s: %q has %q; say it as in %q", s.where, s.text, found, hards[k].good)
			}
		}
	}
}
