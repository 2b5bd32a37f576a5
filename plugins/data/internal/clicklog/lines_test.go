package clicklog

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// Reading and skipping both yield the text's lines that are not blank, for any cut into blocks.
func TestLines(t *testing.T) {
	broken := errors.New("broken")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab ,\r\n\n")), 0, 200, -1).Draw(t, "text")
		all := strings.SplitAfter(text, "\n")
		end, in := io.EOF, io.Reader(strings.NewReader(text))
		if rapid.Bool().Draw(t, "breaks") {
			end, in = broken, io.MultiReader(in, iotest.ErrReader(broken))
			all = all[:len(all)-1] // "" after the last line end, or an incomplete last line
		}
		var want []string
		var numbers []int64
		blank := rapid.Bool().Draw(t, "slow")
		for i, line := range all {
			switch {
			case strings.Trim(line, " ,\r\n") != "":
				want, numbers = append(want, line), append(numbers, int64(i+1))
			case line != "":
				blank = true
			}
		}
		in = rapid.SampledFrom([]func(io.Reader) io.Reader{
			iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader, func(r io.Reader) io.Reader { return r },
		}).Draw(t, "pieces")(in)
		l := lines{in: in, block: make([]byte, len(text)+1), separator: ','}
		for at := 0; ; {
			if n := rapid.IntRange(0, 5).Draw(t, "skip"); n > 0 {
				skipped, err := l.skip(int64(n), blank)
				if left := len(want) - at; int(skipped) != min(n, left) || (err == nil) != (n <= left) ||
					err != nil && !errors.Is(err, end) {
					t.Fatalf("of %d lines %d were skipped and %v; there are %d", n, skipped, err, left)
				}
				at += int(skipped)
			}
			line, err := l.next()
			if at == len(want) {
				if !errors.Is(err, end) {
					t.Fatalf("after the last line comes %q and %v, want %v", line, err, end)
				}
				return
			}
			if plain := strings.TrimSuffix(strings.TrimSuffix(want[at], "\n"), "\r"); err != nil ||
				string(line) != plain || l.line != numbers[at] {
				t.Fatalf("line %d is %q and %v, want %d and %q", l.line, line, err, numbers[at], plain)
			}
			if rapid.Bool().Draw(t, "unread") {
				l.unread()
			} else {
				at++
			}
		}
	})
}

func TestLineThatIsTooLong(t *testing.T) {
	for length, fits := range map[int]bool{maxLine: true, maxLine + 1: false} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			l := lines{in: strings.NewReader("ab\n" + strings.Repeat("x", length) + "\n"),
				block: make([]byte, maxLine+1)}
			if _, err := l.next(); err != nil {
				t.Fatal(err)
			}
			line, err := l.next()
			if fits && (err != nil || len(line) != length) ||
				!fits && (err == nil || err.Error() != "the next line is longer than 1048576 bytes") {
				t.Errorf("a line of %d bytes is read as %d with %v", length, len(line), err)
			}
		})
	}
}
