package executable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func file(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// A command runs its program, a script's interpreters, and scripts that are arguments. All their symbolic links are
// resolved.
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
	t.Chdir(folder)
	for name, c := range map[string]struct {
		command, want []string
		err           string
	}{
		"a program":               {[]string{program, "-v", folder}, []string{program}, ""},
		"a link":                  {[]string{link}, []string{program}, ""},
		"a program with a script": {[]string{program, "-", script}, []string{program, script}, ""},
		"a word that is a file":   {[]string{program, "script"}, []string{program}, ""},
		"a path to that file":     {[]string{program, "./script"}, []string{program, script}, ""},
		"a script":                {[]string{inner}, []string{inner, program}, ""},
		"a script of a script": {[]string{file(t, folder, "outer", "#!"+inner)},
			[]string{filepath.Join(folder, "outer"), inner, program}, ""},
		"env":                {[]string{byEnv}, []string{byEnv, env, program}, ""},
		"a script of itself": {[]string{loop}, nil, "has a chain of more than"},
		"a file of the first line": {[]string{file(t, folder, "files", "#!"+program+" "+script+"\n")},
			[]string{filepath.Join(folder, "files"), program, script}, ""},
		"a file after env": {[]string{file(t, folder, "env-files", "#!/usr/bin/env -S link "+script+"\n")},
			[]string{filepath.Join(folder, "env-files"), env, program, script}, ""},
		"env that takes a word": {[]string{file(t, folder, "unset", "#!/usr/bin/env -S -u A link\n")}, nil,
			"with -u, so psbench cannot tell"},
		"env without a program": {[]string{absent}, nil, "which is not found"},
		"nothing":               {[]string{filepath.Join(folder, "nothing")}, nil, "no such file"},
		"a folder":              {[]string{folder}, nil, "is no regular file"},
		"an empty line is no script": {[]string{file(t, folder, "empty", "#!\n")},
			[]string{filepath.Join(folder, "empty")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Paths(c.command)
			if diff := cmp.Diff(c.want, got); c.err == "" && (diff != "" || err != nil) {
				t.Errorf("%s: %v\n%s", name, err, diff)
			}
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%s gives %v, want %q", name, err, c.err)
			}
		})
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
		t.Run(c.at, func(t *testing.T) {
			before, err := os.Stat(c.at)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(c.at, c.mode); err != nil {
				t.Fatal(err)
			}
			if err := Guard(path); (err == nil) != (c.want == "") ||
				err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s with %v gives %v, want %q", c.at, c.mode, err, c.want)
			}
			if err := os.Chmod(c.at, before.Mode()); err != nil {
				t.Fatal(err)
			}
		})
	}
	if os.Getuid() != 0 {
		return // only root can change the owner of a file
	}
	if err := os.Chown(path, 12345, 0); err != nil {
		t.Fatal(err)
	}
	if err := Guard(path); err == nil || !strings.Contains(err.Error(), "belongs to user 12345") {
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

// A group is private if it is the user's primary group and has no other members.
func TestAlone(t *testing.T) {
	const passwd = "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\nbob:x:1001:100::/:/bin/sh\neve:x:1002:1010::/:/bin/sh\ntom:x:1003:1010::/:/bin/sh\n"
	const groups = "root:x:0:\nusers:x:100:\nann:x:1000:ann\nwheel:x:10:ann,bob\nopen:x:2000:bob\ntwo:x:1010:\nbroken\n"
	for _, c := range []struct {
		group, user, primary int
		want                 bool
	}{
		{1000, 1000, 1000, true},
		{1000, 1000, 10, true},    // even after newgrp
		{10, 1000, 1000, false},   // the group has other members
		{100, 1001, 100, true},    // the group's number need not equal the user's
		{1010, 1002, 1010, false}, // it is the primary group of another user too
		{1000, 1001, 100, false},
		{0, 0, 0, true},
		{3000, 3000, 3000, true},  // a user from a directory server
		{3000, 3001, 3000, false}, // a group that may have many members
		{2000, 2000, 2000, false}, // the numbers are equal, but the group has a member
		{1000, 3000, 1000, false},
		{nobodyAlone, 1000, 1000, false},
	} {
		t.Run(fmt.Sprint(c.group), func(t *testing.T) {
			if got := alone(c.group, c.user, c.primary, passwd, groups); got != c.want {
				t.Errorf("user %d is alone in group %d: %v", c.user, c.group, got)
			}
		})
	}
	if alone(1000, 1000, 1000, passwd, strings.Replace(groups, "ann:x:1000:ann", "ann:x:1000:ann,bob", 1)) {
		t.Error("ann is alone in the group to which bob was added")
	}
}

// list returns an access control list. Each entry is a tag, permissions and a number.
func list(entries ...[3]uint32) []byte {
	raw := binary.LittleEndian.AppendUint32(nil, listVersion)
	for _, e := range entries {
		raw = binary.LittleEndian.AppendUint16(raw, uint16(e[0]))
		raw = binary.LittleEndian.AppendUint16(raw, uint16(e[1]))
		raw = binary.LittleEndian.AppendUint32(raw, e[2])
	}
	return raw
}

// A user who may write because of an access control list counts like a user who may write because of the file's mode.
func TestAccessLists(t *testing.T) {
	const none = 0xffffffff
	me := uint32(os.Getuid())
	base := func(folks, mask uint32, more ...[3]uint32) []byte {
		return list(append([][3]uint32{{forOwner, 7, none}, {forFolks, folks, none}, {asMask, mask, none},
			{forOthers, 5, none}}, more...)...)
	}
	for name, c := range map[string]struct {
		raw  []byte
		want bool
	}{
		"another user":     {base(5, 7, [3]uint32{forUser, 7, me + 12345}), true},
		"who is masked":    {base(5, 5, [3]uint32{forUser, 7, me + 12345}), false},
		"who may read":     {base(5, 7, [3]uint32{forUser, 5, me + 12345}), false},
		"the user himself": {base(5, 7, [3]uint32{forUser, 7, me}, [3]uint32{forUser, 6, 0}), false},
		"another group":    {base(5, 7, [3]uint32{forGroup, 6, 12345}), true},
		"the file's group": {base(7, 7), true},
		"which is masked":  {base(7, 5), false},
		"anybody": {list([3]uint32{forOwner, 7, none}, [3]uint32{forFolks, 5, none},
			[3]uint32{forOthers, 2, none}), true},
		"a list of three": {list([3]uint32{forOwner, 7, none}, [3]uint32{forFolks, 5, none},
			[3]uint32{forOthers, 5, none}), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := listWritable(c.raw, 12345); got != c.want || err != nil {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		})
	}
	for i, raw := range [][]byte{nil, {1, 0, 0, 0}, append(list(), 1)} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if _, err := listWritable(raw, 0); err == nil {
				t.Errorf("%v is a list", raw)
			}
		})
	}
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := file(t, folder, "program", "x")
	given := list([3]uint32{forOwner, 7, none}, [3]uint32{forUser, 7, me + 12345}, [3]uint32{forFolks, 5, none},
		[3]uint32{asMask, 7, none}, [3]uint32{forOthers, 5, none})
	err = unix.Setxattr(path, accessAttribute, given, 0)
	if errors.Is(err, unix.ENOTSUP) {
		return // this file system has no access control lists
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := Guard(path); err == nil ||
		!strings.Contains(err.Error(), "with an access control list (getfacl shows it): chmod go-w "+path) {
		t.Errorf("a file that a list opens gives %v", err)
	}
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Guard(path); err != nil {
		t.Errorf("what the message says does not help: %v", err)
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
