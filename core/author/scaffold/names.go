package scaffold

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/psbench/psbench/internal/quote"
)

// namePattern is narrower than the pattern of keys, since the name is also a folder and a program on
// command lines.
var namePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,99}$`)

// imported are modules that plugins in Python import, also where they are not installed yet.
var imported = strings.Fields(
	"cupy google grpc jax numba numpy pandas psbench scipy sklearn tensorflow torch torchvision transformers")

// words are those of Python that can name no module, and None, True and False, which can name no class.
var words = strings.Fields(
	`and as assert async await break class continue def del elif else except false finally for from global
	if import in is lambda none nonlocal not or pass raise return true try while with yield`)

// CheckName says what is wrong with the name of a plugin. One in Python is that of a module, which must hide no other:
// Python looks beside the script first, also for what the script itself imports.
func CheckName(ctx context.Context, name string, kind Kind, language Language) error {
	if !namePattern.MatchString(name) {
		return fmt.Errorf("the name %s must begin with a letter and be made of at most 100 letters, digits, _ and -: it is a key, a folder and a program",
			quote.String(name))
	}
	if language != Python {
		return nil
	}
	if strings.Contains(name, "-") {
		return fmt.Errorf("the name %s must have no -, which no module of Python may have: try %s", quote.String(name),
			strings.ReplaceAll(name, "-", "_"))
	}
	instead := fmt.Sprintf("choose another name, such as %s_%s", name, kind.Kind)
	switch {
	case slices.Contains(imported, name):
		return fmt.Errorf("the name %s belongs to a module that plugins import, which %s.py would hide: %s",
			quote.String(name), name, instead)
	case slices.Contains(words, strings.ToLower(name)):
		return fmt.Errorf("the name %s is a word of Python itself: %s", quote.String(name), instead)
	case isModule(ctx, name):
		return fmt.Errorf("the name %s belongs to a module of Python, which %s.py would hide: %s", quote.String(name),
			name, instead)
	}
	return nil
}

// isModule asks Python whether name is a module, or its class name a builtin. Without Python it returns false.
func isModule(ctx context.Context, name string) bool {
	const asked = "import sys, builtins, importlib.util as u; n, c = sys.argv[1:]\n" +
		"print(n in getattr(sys, 'stdlib_module_names', ()) or hasattr(builtins, c) or n.endswith('customize') or u.find_spec(n) is not None)"
	said, _ := exec.CommandContext(ctx, "python3", "-I", "-c", asked, name, className(name)).Output() // #nosec G204 -- the name has letters, digits and _ alone
	return strings.TrimSpace(string(said)) == "True"
}
