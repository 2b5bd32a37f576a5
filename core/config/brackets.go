package config

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/psbench/psbench/core/config/option"
)

// listOf is the list that a text without brackets stands for, as JSON has it: [64,128] of 64,128. It is "" of
// what is no text, or begins as something of JSON.
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
	for item := range strings.SplitSeq(text, ",") {
		written, err := json.Marshal(option.Text(strings.TrimSpace(item)).Value())
		if err != nil {
			return ""
		}
		items = append(items, string(written))
	}
	return "[" + strings.Join(items, ",") + "]"
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
