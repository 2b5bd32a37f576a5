package numeral

import (
	"regexp"
	"strings"
)

// words matches the words of a text like JSON: strings, which stay unchanged, and possible numbers or constants.
var words = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[^\s\[\]{}:,"]+`)

// constants maps Python's constants to JSON's.
var constants = map[string]string{"True": "true", "False": "false", "None": "null"}

// thousands matches a number whose comma may separate thousands. JSON has no number that begins with 0 and another
// digit.
var thousands = regexp.MustCompile(`\d,0\d\d(?:\D|$)`)

// InJSON rewrites the numbers and constants of a text like JSON in JSON syntax. The function place maps a position
// in the result to the position in the text. If the text contains a number such as 1,000, InJSON returns it
// unchanged, so it is not valid JSON.
func InJSON(text string) (written string, place func(at int) int) {
	type grown struct{ from, by int }
	var out strings.Builder
	var all []grown
	end := 0
	if !Grouped(text) {
		for _, word := range words.FindAllStringIndex(text, -1) {
			out.WriteString(text[end:word[0]])
			end = word[1]
			plain := inJSON(text[word[0]:end])
			out.WriteString(plain)
			if by := len(plain) - (end - word[0]); by != 0 {
				all = append(all, grown{out.Len(), by})
			}
		}
	}
	out.WriteString(text[end:])
	return out.String(), func(at int) int {
		from := at
		for _, g := range all {
			if at >= g.from {
				from -= g.by
			}
		}
		return from
	}
}

func inJSON(word string) string {
	if constant, is := constants[word]; is {
		return constant
	}
	if number, err := JSON(word); err == nil {
		return number
	}
	return word
}

// Grouped reports whether a list contains a number such as 1,000, which could also be two numbers.
func Grouped(list string) bool { return thousands.MatchString(list) }
