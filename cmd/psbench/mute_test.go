package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// A plugin that shakes hands and then says nothing is asked for its parts in
// vain: the deadline ends that, and so does the user.
func TestMutePlugin(t *testing.T) {
	registry := foreignPlugin(t, "mute")
	for name, c := range map[string]struct {
		patience time.Duration // of the user; 0 is without end
		timeout  string
		status   int
		want     string
	}{
		"deadline":  {0, "1", exitFailure, "psbench: plugin mute cannot be asked for its parts: it did not answer within 1s, the limit of --rpc-timeout"},
		"interrupt": {500 * time.Millisecond, "60", exitSignal, "psbench: interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if c.patience > 0 {
				time.AfterFunc(c.patience, cancel)
			}
			var stdout, stderr bytes.Buffer
			a := &app{stdout: &stdout, stderr: &stderr, environ: os.Environ()}
			status := a.run(ctx, []string{"--registry", registry, "--server", "mute", "--rpc-timeout", c.timeout})
			if got := strings.TrimSpace(stderr.String()); status != c.status || got != c.want {
				t.Errorf("exit status %d, %q; want %d, %q", status, got, c.status, c.want)
			}
		})
	}
}
