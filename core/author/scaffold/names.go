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

// namePattern allows fewer names than the pattern of keys. The name is also the name of a folder, and of a program on
// command lines.
var namePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,99}$`)

// imported lists modules that Python plugins import. The list is needed for modules that are not installed yet.
var imported = strings.Fields(
	"cupy google grpc jax numba numpy pandas psbench scipy sklearn tensorflow torch torchvision transformers")

// words lists the keywords of Python, which cannot be names of modules. words includes none, true and false, because a
// class cannot be named None, True or False.
var words = strings.Fields(
	`and as assert async await break class continue def del elif else except false finally for from global
	if import in is lambda none nonlocal not or pass raise return true try while with yield`)

// CheckName returns an error if a plugin cannot have this name. In Python, the name is the name of a module and must
// not hide another module. Python searches the script's folder first, also for modules that the script imports.
func CheckName(ctx context.Context, name string, kind Kind, language Language) error {
	if !namePattern.MatchString(name) {
		return fmt.Errorf("the name %s must begin with a letter and have at most 100 letters, digits, _ and -, because it names a key, a folder and a program",
			quote.String(name))
	}
	if language != Python {
		return nil
	}
	if strings.Contains(name, "-") {
		return fmt.Errorf("the name %s must have no -, because it names a Python module: try %s", quote.String(name),
			strings.ReplaceAll(name, "-", "_"))
	}
	instead := fmt.Sprintf("choose another name, such as %s_%s", name, kind.Kind)
	switch {
	case slices.Contains(imported, name):
		return fmt.Errorf("the name %s belongs to a module that plugins import, which %s.py would hide: %s",
			quote.String(name), name, instead)
	case slices.Contains(words, strings.ToLower(name)):
		return fmt.Errorf("the name %s is a reserved word of Python: %s", quote.String(name), instead)
	case isModule(ctx, name):
		return fmt.Errorf("the name %s belongs to a module of Python, which %s.py would hide: %s", quote.String(name),
			name, instead)
	}
	return nil
}

// isModule asks Python whether a module has this name or a builtin has its class name. Without Python, isModule returns
// false.
func isModule(ctx context.Context, name string) bool {
	const asked = "import sys, builtins, importlib.util as u; n, c = sys.argv[1:]\n" +
		"print(n in getattr(sys, 'stdlib_module_names', ()) or hasattr(builtins, c) or n.endswith('customize') or u.find_spec(n) is not None)"
	said, _ := exec.CommandContext(ctx, "python3", "-I", "-c", asked, name, className(name)).Output() // #nosec G204 -- the name has letters, digits and _ alone
	return strings.TrimSpace(string(said)) == "True"
}
