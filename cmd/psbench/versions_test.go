package main

import "testing"

// Plugins that speak other versions of the contract are refused before anything runs, with
// both versions and what to do.
func TestPluginsOfOtherVersions(t *testing.T) {
	registry := foreignPlugin(t, "versioned")
	for server, want := range map[string]string{
		"old":   "0.1 of psbench's contract with plugins, this psbench 1.0: build the plugin with the sdk of this psbench",
		"newer": "1.1 of psbench's contract with plugins, this psbench 1.0: update psbench, or build the plugin with the sdk of this psbench",
		"next":  "2.0 of psbench's contract with plugins, this psbench 1.0: update psbench, or build the plugin with the sdk of this psbench",
	} {
		want = "psbench: plugin " + server + " cannot be asked for its parts: plugin " + server + " did not start: it speaks version " + want + "\n"
		if status, _, stderr := psbenchMain(t, "--registry", registry, "--server", server); status != exitFailure || stderr != want {
			t.Errorf("exit status %d, %q, want %q", status, stderr, want)
		}
	}
}
