package pmi

import (
	"fmt"
	"strings"

	"github.com/psbench/psbench/internal/quote"
)

// message is a line of the protocol: cmd=NAME, followed by KEY=VALUE for each word.
type message struct {
	command string
	words   []word
}

type word struct{ key, value string }

// longest limits a line, in bytes. All known launchers need at most 2 KiB.
const longest = 8 << 10

// format formats a message as a line. All its words must satisfy isWord.
func (m message) format() string {
	var line strings.Builder
	line.WriteString("cmd=" + m.command)
	for _, w := range m.words {
		line.WriteString(" " + w.key + "=" + w.value)
	}
	line.WriteByte('\n')
	return line.String()
}

// value returns the value of a key. value returns false if the key is missing.
func (m message) value(key string) (string, bool) {
	for _, w := range m.words {
		if w.key == key {
			return w.value, true
		}
	}
	return "", false
}

// parse parses a line, which must end in a newline. A value may contain an equals sign but no space.
func parse(line string) (message, error) {
	var m message
	text, ended := strings.CutSuffix(line, "\n")
	if !ended {
		return m, fmt.Errorf("%s came, which does not end its line within %d bytes", quote.String(line), longest)
	}
	for i, field := range strings.Split(text, " ") {
		key, value, found := strings.Cut(field, "=")
		switch _, twice := m.value(key); {
		case !found || !isKey(key) || !isWord(value):
			return m, fmt.Errorf("%s came, whose word %d is not KEY=VALUE of printable ASCII", quote.String(line), i+1)
		case (i == 0) != (key == "cmd"):
			return m, fmt.Errorf("%s came, which does not have cmd= as its first word, once", quote.String(line))
		case twice:
			return m, fmt.Errorf("%s came, which has %s twice", quote.String(line), key)
		case i == 0:
			m.command = value
		default:
			m.words = append(m.words, word{key, value})
		}
	}
	if m.command == "" {
		return m, fmt.Errorf("%s came, whose command has no name", quote.String(line))
	}
	return m, nil
}

// isKey reports whether s is a valid name in the protocol.
func isKey(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// isWord reports whether s fits into a line: it must be printable ASCII without spaces.
func isWord(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
