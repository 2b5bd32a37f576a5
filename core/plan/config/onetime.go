package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/psbench/psbench/internal/quote"
)

// inputPaths are the paths of standard input.
var inputPaths = []string{"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}

// ReadsInput says whether a setting of the part names standard input.
func (p Part) ReadsInput() bool {
	_, path := p.findText(func(text string) bool { return slices.Contains(inputPaths, text) })
	return path != ""
}

// OneTime is the name of a setting that names standard input or a pipe, and what that is, in words; "" if none does.
// What one run has read there the next one does not find.
func (p Part) OneTime() (setting, what string) {
	setting, path := p.findText(func(text string) bool {
		info, err := os.Stat(text)
		return slices.Contains(inputPaths, text) || err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
	})
	switch {
	case path == "":
		return "", ""
	case slices.Contains(inputPaths, path):
		return setting, fmt.Sprintf("%s, standard input", quote.Word(path))
	default:
		return setting, fmt.Sprintf("%s, a pipe", quote.Word(path))
	}
}

// findText finds a setting whose value is such a text.
func (p Part) findText(such func(string) bool) (setting, text string) {
	var values map[string]any
	_ = json.Unmarshal(p.Settings, &values) // an object that was written here
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if text, ok := values[name].(string); ok && text != "" && such(text) {
			return name, text
		}
	}
	return "", ""
}
