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

// NoiseName is the name of the file that psbench noise leaves.
const NoiseName = "noise.json"

// NoiseFile returns where psbench noise leaves what it measured for psbench compare: beside the user's registry. It is
// "" for a user without a home.
func NoiseFile(environ []string) string {
	user := registry.UserFile(environ)
	if user == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(user), NoiseName)
}

// Keep writes the noise to path for psbench compare, and makes the folder of path.
func (n *Noise) Keep(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // #nosec G301 -- as the user's registry
		return fmt.Errorf("folder %s cannot be made: %w", quote.Word(filepath.Dir(path)), draft.Cause(err))
	}
	return n.Write(path)
}

// measuredNoise returns the floor between sessions that psbench noise left at path. It is not ok without that file, or
// if the file is of another machine than the studies.
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
