package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/internal/numeral"
)

// listOf is the list that a text without brackets stands for, as JSON has it: [64,128] of 64,128. It is "" of
// what is no text, begins as something of JSON, or has pieces that itemsOf cannot tell.
func listOf(value any) string {
	text := ""
	switch v := value.(type) {
	case option.Text:
		text = string(v)
	case string:
		text = v
	}
	if text = strings.TrimSpace(text); text == "" || text == "null" || strings.ContainsRune(`[{"`, rune(text[0])) {
		return ""
	}
	var items []string
	for _, item := range itemsOf(text) {
		written, err := json.Marshal(option.Text(item).Value())
		if err != nil {
			return ""
		}
		items = append(items, string(written))
	}
	if len(items) == 0 {
		return ""
	}
	return "[" + strings.Join(items, ",") + "]"
}

// itemsOf splits a text at commas, semicolons and spaces if all pieces are numbers, else at commas alone. It returns nil if an
// item then still holds a semicolon or a space, which may be a separator or belong to the item.
func itemsOf(text string) []string {
	separates := func(r rune) bool { return r == ';' || unicode.IsSpace(r) }
	if numbers := numbersIn(strings.FieldsFunc(text, func(r rune) bool { return r == ',' || separates(r) })); numbers != nil {
		return numbers
	}
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if strings.ContainsFunc(item, separates) {
			return nil
		}
		items = append(items, item)
	}
	return items
}

// numbersIn writes the pieces as JSON has them; nil unless all are numbers.
func numbersIn(pieces []string) []string {
	var numbers []string
	for _, piece := range pieces {
		number, err := numeral.JSON(piece)
		if err != nil {
			return nil
		}
		numbers = append(numbers, number)
	}
	return numbers
}

// withBrackets says, where what follows a comma is no assignment, how a list is written that it may be of.
func withBrackets(err error, before []assignment, item string) error {
	kind, _, dotted := strings.Cut(item, ".")
	if _, unknown := parseKind(strings.TrimSpace(kind)); len(before) == 0 || strings.Contains(item, "=") || dotted && unknown == nil {
		return err
	}
	last := before[len(before)-1]
	list := listOf(option.Text(fmt.Sprintf("%s,%s", last.value, item)))
	if list == "" {
		return err
	}
	return fmt.Errorf("%w; a list has brackets: %s=%s", err, strings.TrimPrefix(string(last.kind)+"."+last.name, "."), list)
}
