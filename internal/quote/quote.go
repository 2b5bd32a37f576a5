// Package quote prepares foreign text for a message: values, contents of files, messages of
// plugins, paths. For any input the result is short, valid UTF-8 without control characters.
package quote

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How many bytes of a word, and of a foreign message, are shown.
const (
	wordBytes    = 200
	messageBytes = 2000
)

// String is s in quotes.
func String(s string) string { return limited(s, wordBytes, strconv.Quote) }

// Word is s as it is where it is plain, a path say, and else in quotes.
func Word(s string) string {
	if s != "" && len(s) <= wordBytes && strings.TrimSpace(s) == s && Plain(s) {
		return s
	}
	return String(s)
}

// Text is s without quotes, for what has some of its own or is a number.
func Text(s string) string { return limited(s, wordBytes, escape) }

// Message quotes a sentence of a plugin or a library.
func Message(s string) string { return limited(strings.TrimSpace(s), messageBytes, escape) }

// Lines is Message of a text of several lines, each shown as a line.
func Lines(s string) string {
	return limited(s, messageBytes, func(s string) string {
		lines := strings.Split(s, "\n")
		for i, line := range lines {
			lines[i] = escape(strings.ReplaceAll(line, "\t", "    "))
		}
		return strings.Join(lines, "\n")
	})
}

// Shell is s as a word that can be pasted into a shell, if it can be printed at all.
func Shell(s string) string {
	const plain = "%+,-./:=@_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(limited(s, messageBytes, escape), "'", `'\''`) + "'"
}

// limited applies show to the first bytes of s and says how many there are if those are
// not all.
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

// escape writes what cannot be printed as a Go string would have it.
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

// Plain says whether s can be printed as it is.
func Plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
