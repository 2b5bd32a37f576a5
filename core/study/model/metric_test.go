package model

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The page documents every metric exactly as the code defines it.
func TestMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/answer.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range Metrics {
		t.Run(m.Name, func(t *testing.T) {
			if row := fmt.Sprintf("| `%s` | %s | %s | %s |\n", m.Name, m.Unit, m.Better,
				m.Means); !strings.Contains(string(page), row) {
				t.Errorf("docs/answer.md has no row\n%s", row)
			}
		})
	}
}
