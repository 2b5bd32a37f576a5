package verdict

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// NoiseName is the name of the file that psbench noise writes.
const NoiseName = "noise.json"

// NoiseFile returns the path of the file in which psbench noise stores its result for psbench compare. The file is in
// the folder of the user's registry. The path is "" if the user has no home folder.
func NoiseFile(environ []string) string {
	user := registry.UserFile(environ)
	if user == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(user), NoiseName)
}

// Keep writes the noise to path, where psbench compare reads it. It creates the folder of path if needed.
func (n *Noise) Keep(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // #nosec G301 -- as the user's registry
		return fmt.Errorf("folder %s cannot be made: %w", quote.Word(filepath.Dir(path)), draft.Cause(err))
	}
	return n.Write(path)
}

// measuredNoise returns the floor between sessions from the file at path. ok is false if the file does not exist or if
// the studies ran on another machine.
func measuredNoise(path, metric string, studies ...*model.Study) (apart Apart, ok bool, err error) {
	if path == "" {
		return apart, false, nil
	}
	if _, err := os.Stat(path); err != nil {
		return apart, false, nil
	}
	n, err := ReadNoise(path)
	if err != nil {
		return apart, false, err
	}
	apart, ok = n.Apart(metric, studies...)
	return apart, ok, nil
}
