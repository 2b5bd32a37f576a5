package config

import (
	"strings"
	"testing"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/sdk"
)

// A plugin in another language may declare how its parts answer. psbench checks this like the declaration of a plugin
// in Go.
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
