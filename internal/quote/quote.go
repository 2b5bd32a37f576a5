// Package quote prepares foreign text for a message: values, contents of files, messages of plugins, paths. For any
// input, the result is short and valid UTF-8 without control characters.
package quote

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The most bytes that a message shows of a word, and of a foreign message.
const (
	wordBytes    = 200
	messageBytes = 2000
)

// String returns s in quotes.
func String(s string) string { return limited(s, wordBytes, strconv.Quote) }

// Word returns s unchanged if it is plain, such as a path, and otherwise in quotes.
func Word(s string) string {
	if s != "" && len(s) <= wordBytes && strings.TrimSpace(s) == s && Plain(s) {
		return s
	}
	return String(s)
}

// Text returns s without quotes, for texts that contain quotes or are numbers.
func Text(s string) string { return limited(s, wordBytes, escape) }

// Message quotes a sentence of a plugin or a library.
func Message(s string) string { return limited(strings.TrimSpace(s), messageBytes, escape) }

// Lines quotes a text of several lines like Message, but keeps each line on its own line.
func Lines(s string) string {
	return limited(s, messageBytes, func(s string) string {
		lines := strings.Split(s, "\n")
		for i, line := range lines {
			lines[i] = escape(strings.ReplaceAll(line, "\t", "    "))
		}
		return strings.Join(lines, "\n")
	})
}

// Shell returns s as a word that a user can paste into a shell. The result is printable only if s is.
func Shell(s string) string {
	const plain = "%+,-./:=@_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(limited(s, messageBytes, escape), "'", `'\''`) + "'"
}

// limited applies show to the first bytes of s. If s is longer, it adds the total number of bytes.
func limited(s string, most int, show func(string) string) string {
	if len(s) <= most {
		return show(s)
	}
	cut := most
	for cut > most-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s... (%d bytes)", show(s[:cut]), len(s))
}

// escape writes unprintable characters as in a Go string.
func escape(s string) string {
	if Plain(s) {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			out.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		out.WriteString(quoted[1 : len(quoted)-1])
	}
	return out.String()
}

// Plain reports whether s can be printed unchanged.
func Plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
