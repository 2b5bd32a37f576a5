package executable

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func file(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// A command runs its program, a script's interpreters, and scripts that are arguments, all by
// where their links lead.
func TestPaths(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program := file(t, folder, "program", "\x7fELF")
	script := file(t, folder, "script", "text")
	link := filepath.Join(folder, "link")
	if err := os.Symlink("program", link); err != nil {
		t.Fatal(err)
	}
	inner := file(t, folder, "inner", "#! "+link+" -x\n")
	byEnv := file(t, folder, "by-env", "#!/usr/bin/env -S A=b link -u\n")
	loop := file(t, folder, "loop", "#!"+filepath.Join(folder, "loop"))
	absent := file(t, folder, "absent", "#!/usr/bin/env no-such-program\n")
	env, err := Resolve("/usr/bin/env")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	for name, c := range map[string]struct {
		command, want []string
		err           string
	}{
		"a program":                  {[]string{program, "-v", folder}, []string{program}, ""},
		"a link":                     {[]string{link}, []string{program}, ""},
		"a program with a script":    {[]string{program, "-", script}, []string{program, script}, ""},
		"a script":                   {[]string{inner}, []string{inner, program}, ""},
		"a script of a script":       {[]string{file(t, folder, "outer", "#!"+inner)}, []string{filepath.Join(folder, "outer"), inner, program}, ""},
		"env":                        {[]string{byEnv}, []string{byEnv, env, program}, ""},
		"a script of itself":         {[]string{loop}, nil, "has an interpreter that has one"},
		"a file of the first line":   {[]string{file(t, folder, "files", "#!"+program+" "+script+"\n")}, []string{filepath.Join(folder, "files"), program, script}, ""},
		"a file after env":           {[]string{file(t, folder, "env-files", "#!/usr/bin/env -S link "+script+"\n")}, []string{filepath.Join(folder, "env-files"), env, program, script}, ""},
		"env that takes a word":      {[]string{file(t, folder, "unset", "#!/usr/bin/env -S -u A link\n")}, nil, "with -u, of which"},
		"env without a program":      {[]string{absent}, nil, "which is not found"},
		"nothing":                    {[]string{filepath.Join(folder, "nothing")}, nil, "no such file"},
		"a folder":                   {[]string{folder}, nil, "is no regular file"},
		"an empty line is no script": {[]string{file(t, folder, "empty", "#!\n")}, []string{filepath.Join(folder, "empty")}, ""},
	} {
		got, err := Paths(c.command)
		if diff := cmp.Diff(c.want, got); c.err == "" && (diff != "" || err != nil) {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s gives %v, want %q", name, err, c.err)
		}
	}
}

func TestGuard(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := file(t, folder, "program", "x")
	for _, c := range []struct {
		at   string
		mode os.FileMode
		want string
	}{
		{path, 0o755, ""},
		{path, 0o757, "file " + path + " can be written by others"},
		{folder, 0o757, "folder " + folder + " can be written by others, its mode is drwxr-xrwx: chmod go-w " + folder},
		{folder, 0o777 | os.ModeSticky, ""},
	} {
		before, err := os.Stat(c.at)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(c.at, c.mode); err != nil {
			t.Fatal(err)
		}
		if err := Guard(path); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %v gives %v, want %q", c.at, c.mode, err, c.want)
		}
		if err := os.Chmod(c.at, before.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() != 0 {
		return // only root can give files away
	}
	if err := os.Chown(path, 12345, 0); err != nil {
		t.Fatal(err)
	}
	if err := Guard(path); err == nil || !strings.Contains(err.Error(), "belongs to the user with number 12345") {
		t.Errorf("a stranger's program gives %v", err)
	}
	if err := os.Chown(path, 0, 12345); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o770); err != nil {
		t.Fatal(err)
	}
	if err := Guard(path); err == nil || !strings.Contains(err.Error(), "-rwxrwx---") {
		t.Errorf("a program that a group can write gives %v", err)
	}
}

func FuzzShebang(f *testing.F) {
	f.Add([]byte("#!/usr/bin/env -S python3 -u\nx"))
	f.Add([]byte("#!"))
	f.Fuzz(func(t *testing.T, start []byte) {
		for _, word := range shebang(start) {
			if word == "" || strings.ContainsAny(word, " \n") {
				t.Fatalf("%q has the word %q", start, word)
			}
		}
	})
}
