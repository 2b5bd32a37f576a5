package config

import (
	"strings"
	"testing"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/sdk"
)

// What a plugin in another language declares to answer is checked as one in Go is.
func TestDeclaredAnswers(t *testing.T) {
	for answers, want := range map[sdk.Answers]string{
		"mean":    "",
		"as rpc":  "",
		"averge":  `hook h of plugin p declares that it answers "averge", but must be mean, sum, own, or "as KEY" with one of allreduce, hybrid, noop, rpc, sparse_rpc`,
		"own":     "",
		"as ours": `"as ours", but must be`,
	} {
		t.Run(string(answers), func(t *testing.T) {
			err := CheckDeclared(registry.Item{Kind: sdk.KindHook, Key: "h", Plugin: registry.Plugin{Name: "p"}},
				sdk.Part{Kind: sdk.KindHook, Key: "h", Protocol: true, Answers: answers})
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", answers, err, want)
			}
		})
	}
}
