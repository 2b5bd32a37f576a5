package bom

import (
	"bufio"
	"io"
	"strings"
	"testing"
)

func TestMarks(t *testing.T) {
	for _, c := range []struct{ text, want, err string }{
		{"", "", ""}, {"{}", "{}", ""}, {"\uFEFF", "", ""}, {"\uFEFF{}", "{}", ""}, {"\uFEFF\uFEFFx", "\uFEFFx", ""},
		{"\xef\xbb", "\xef\xbb", ""}, {"x\uFEFF", "x\uFEFF", ""},
		{"\xff\xfe{\x00}\x00", "", "its text is in UTF-16: save it as UTF-8"},
		{"\xfe\xff\x00{", "", "its text is in UTF-16: save it as UTF-8"},
		{"\xff\xfe\x00\x00{\x00\x00\x00", "", "its text is in UTF-32: save it as UTF-8"},
		{"\x00\x00\xfe\xff", "", "its text is in UTF-32: save it as UTF-8"},
	} {
		t.Run(c.text, func(t *testing.T) {
			said := func(err error) string {
				if err == nil {
					return ""
				}
				return err.Error()
			}
			if got, err := Cut([]byte(c.text)); string(got) != c.want || said(err) != c.err {
				t.Errorf("%q: it is %q and %v", c.text, got, err)
			}
			r := bufio.NewReader(strings.NewReader(c.text))
			if err := Skip(r); said(err) != c.err {
				t.Errorf("%q: a reader says %v", c.text, err)
			} else if got, _ := io.ReadAll(r); err == nil && string(got) != c.want {
				t.Errorf("%q: a reader reads %q", c.text, got)
			}
		})
	}
}
