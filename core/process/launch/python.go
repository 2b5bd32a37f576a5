package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/psbench/psbench/core/process/pythonpath"
)

// pythonVariable is where Python looks for modules before it looks where it is installed.
const pythonVariable = "PYTHONPATH"

// pythonPath is the variable with which a plugin in Python finds the package psbench of this
// program, before those that the user's own variable names. The package lies in the user's cache, or
// in the run's folder where that has no place for it, or one that is not to be trusted.
func (l *Launcher) pythonPath() (string, error) {
	l.python.Do(func() {
		if l.pythonFolder, l.pythonError = pythonpath.Cached(); l.pythonError != nil {
			l.pythonFolder, l.pythonError = pythonpath.In(l.directory)
		}
	})
	if l.pythonError != nil {
		return "", fmt.Errorf("the Python package psbench has no place: %w", l.pythonError)
	}
	path := l.pythonFolder
	if own := os.Getenv(pythonVariable); own != "" {
		path += string(filepath.ListSeparator) + own
	}
	return pythonVariable + "=" + path, nil
}

// isPythonPath says whether a variable, with its value, is that one. Of two of them Python would take
// the first.
func isPythonPath(variable string) bool { return strings.HasPrefix(variable, pythonVariable+"=") }
