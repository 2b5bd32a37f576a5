package executable

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The files of a script include the modules that it imports from its folder, and the modules that those import. All
// forms of import statements are recognised.
func TestModules(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, inside := range []string{"pack/deep", "pack/__pycache__", "plain"} {
		if err := os.MkdirAll(filepath.Join(folder, inside), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"first.py": "import second", "second.py": "", "third.py": "import first, script", "fourth.py": "",
		"fifth.py": "", "sixth.py": "", "seventh.py": "", "eighth.py": "",
		"other.py": "", "unused.py": "", "pack/__init__.py": "from . import deep", "pack/mod.py": "import other",
		"pack/deep/x.py": "", "pack/notes.txt": "",
		"pack/__pycache__/mod.cpython-311.pyc": "", "plain/y.py": "", "fast.cpython-311-x86_64-linux-gnu.so": "",
		"faster.so": "", "script": "", "os.py": "",
		"größe.py": "", "bare.pyc": "", "pack/deep/z.pyc": "",
	} {
		file(t, folder, name, text)
	}
	python := file(t, folder, "python3", "\x7fELF import unused")
	for text, want := range map[string]string{
		"":                                  "",
		"import first":                      "first.py second.py",
		"import third":                      "first.py second.py third.py",
		"import first.x as y, \\\n  fourth": "first.py fourth.py second.py",
		"from fifth import (a,\n  b)\nx = 1; import sixth\n":            "fifth.py sixth.py",
		"try:\n\timport seventh # x\nexcept ImportError: import eighth": "eighth.py seventh.py",
		"import pack.mod\n":                                            "other.py pack/__init__.py pack/deep/x.py pack/deep/z.pyc pack/mod.py",
		"from pack import anything":                                    "other.py pack/__init__.py pack/deep/x.py pack/deep/z.pyc pack/mod.py",
		"import plain, fast, faster":                                   "fast.cpython-311-x86_64-linux-gnu.so faster.so plain/y.py",
		"import größe; from bare import x":                             "bare.pyc größe.py",
		"import os, sys, numpy as np":                                  "os.py",
		"# import unused\nimportant = unused\nfrom .unused import x\n": "",
	} {
		script := file(t, folder, "script", "#!"+python+"\n"+text+"\n")
		var expected []string
		for _, name := range strings.Fields(want) {
			expected = append(expected, filepath.Join(folder, name))
		}
		got, err := Paths([]string{script, script})
		if diff := cmp.Diff(append([]string{script, python}, expected...), got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
		file(t, folder, "plain.py", text)
		got, err = Paths([]string{python, "-u", filepath.Join(folder, "plain.py"), script})
		if diff := cmp.Diff(append([]string{python, filepath.Join(folder, "plain.py"), script}, expected...),
			got); diff != "" || err != nil {
			t.Errorf("%q to an interpreter: %v\n%s", text, err, diff)
		}
		if err := os.Remove(filepath.Join(folder, "plain.py")); err != nil {
			t.Fatal(err)
		}
	}
	hidden := file(t, folder, "numpy.py", "")
	if got, err := Paths([]string{file(t, folder, "script", "#!"+python+"\nimport psbench\n")}); err != nil ||
		!slices.Contains(got, hidden) {
		t.Errorf("what hides a module that psbench imports is not among %v, %v", got, err)
	}
	sh := file(t, folder, "sh", "\x7fELF")
	script := file(t, folder, "script", "#!"+sh+"\nimport first\n")
	if got, err := Paths([]string{script}); err != nil || len(got) != 2 {
		t.Errorf("a script of another language runs %v, %v", got, err)
	}
}

// Guard checks the compiled file of a module, because Python runs this file instead of the source.
func TestGuardOfWhatIsCompiled(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	compiled := filepath.Join(folder, "__pycache__")
	if err := os.Mkdir(compiled, 0o700); err != nil {
		t.Fatal(err)
	}
	module, program := file(t, folder, "mod.py", ""), file(t, folder, "program", "")
	if err := Guard(module); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(compiled, 0o707); err != nil { // #nosec G302 -- for that
		t.Fatal(err)
	}
	if err := Guard(module); err == nil ||
		!strings.Contains(err.Error(), "folder "+compiled+" can be written by others") {
		t.Errorf("what is compiled by others gives %v", err)
	}
	if err := Guard(program); err != nil {
		t.Error(err)
	}
}
