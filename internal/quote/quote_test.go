package quote

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestWords(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, c := range []struct{ name, got, want string }{
		{"a string", String("lr"), `"lr"`},
		{"an empty string", String(""), `""`},
		{"controls", String("a\x1b[31m\nb\x7f"), `"a\x1b[31m\nb\x7f"`},
		{"a long string", String(long), `"` + long[:200] + `"... (100000 bytes)`},
		{"a cut within a character", String(strings.Repeat("x", 199) + "äöü"), `"` + long[:199] + `"... (205 bytes)`},
		{"a path", Word("a/b c.json"), "a/b c.json"},
		{"an empty path", Word(""), `""`},
		{"a path with a line end", Word("a\nb"), `"a\nb"`},
		{"a path with an override", Word("a\u202eb"), `"a\u202eb"`},
		{"a long path", Word(long), `"` + long[:200] + `"... (100000 bytes)`},
		{"JSON", Text(`{"a": 1}`), `{"a": 1}`},
		{"JSON with a control", Text("\"a\u009b\""), `"a\u009b"`},
		{"invalid UTF-8", Text("a\xffb"), "a�b"},
		{"a long number", Text(long), long[:200] + "... (100000 bytes)"},
		{"a message", Message("no such row\n"), "no such row"},
		{"a message of two lines", Message("one\ntwo"), `one\ntwo`},
		{"lines", Lines("one\n\ttwo\r"), "one\n    two\\r"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("%s: got %s, want %s", c.name, c.got, c.want)
			}
		})
	}
}

func TestShell(t *testing.T) {
	for word, want := range map[string]string{
		"": "''", "/usr/bin/mine-2.1": "/usr/bin/mine-2.1", "/sp ace/x": "'/sp ace/x'", "$x": "'$x'",
		"it's": `'it'\''s'`,
		"-k=v": "-k=v", strings.Repeat("d", 300): strings.Repeat("d", 300), "a\nb": `'a\nb'`, "ü": "'ü'",
	} {
		t.Run(word, func(t *testing.T) {
			if got := Shell(word); got != want {
				t.Errorf("%q: %s, want %s", word, got, want)
			}
		})
	}
}

func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "plain", "a\nb\tc", "\xff\xfe", "\u202e\u2028", strings.Repeat("ä", 3000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, show := range map[string]func(string) string{"String": String, "Word": Word, "Text": Text,
			"Message": Message, "Lines": Lines} {
			got := show(s)
			if name == "Lines" {
				got = strings.ReplaceAll(got, "\n", "")
			}
			if !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) ||
				len(got) > 10*messageBytes+100 {
				t.Errorf("%s(%q) is %q", name, s, got)
			}
		}
	})
}
