package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/internal/interrupt"
	"github.com/psbench/psbench/internal/quote"
)

// askTime is how long Ask waits for the other psbench's answer.
const askTime = time.Minute

// Ask runs program, which is another psbench, and returns the effective configuration that program computes from
// values. The program gets environ without the variables of options. Ask gives up after askTime.
func Ask(ctx context.Context, environ []string, program string, values map[string]any) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	defer interrupt.Hold(ctx)()
	file, err := os.CreateTemp("", "psbench-*.json")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if err := errors.Join(json.NewEncoder(file).Encode(values), file.Close()); err != nil {
		return nil, err
	}
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "config", "--config", file.Name(), "--format", "json") // #nosec G204 -- the user names it
	cmd.Env, cmd.Stdout, cmd.Stderr = WithoutOptions(environ), &out, &said
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("it does not print within %s what configuration it would run", askTime)
		}
		words := strings.ReplaceAll(said.String(), filepath.Base(file.Name()), "the cell")
		return nil, fmt.Errorf("it does not say what configuration it would run (%w): %s", err, quote.Message(words))
	}
	return jsonfile.Map("what it says of its configuration", out.Bytes())
}

// WithoutOptions returns environ without the variables of options. The configuration of each cell already contains
// their values.
func WithoutOptions(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.ContainsFunc(option.All(), func(o option.Option) bool { return o.Env() == name })
	})
}
