package main

import (
	"os"

	"github.com/psbench/psbench/core/launch"
	"github.com/psbench/psbench/plugins"
	"github.com/psbench/psbench/sdk/engine/enginetest"
	"github.com/psbench/psbench/sdk/plugin"
)

// testEngine is the environment variable under which the test executable serves psbench's own
// parts on an engine whose memory Go cannot touch. Plugin processes inherit it.
const testEngine = "TEST_ENGINE"

// testEngines are engines by the variable's values.
var testEngines = map[string]enginetest.Config{"dark": enginetest.Full}

// servedOnTestEngine is launch.Child for built-in parts on such an engine.
func servedOnTestEngine() bool {
	config, ok := testEngines[os.Getenv(testEngine)]
	if !ok || len(os.Args) < 2 || os.Args[1] != launch.BuiltinArgument {
		return false
	}
	plugin.ServeOn(config.Open, enginetest.Parts(plugins.Parts())...)
	return true
}
