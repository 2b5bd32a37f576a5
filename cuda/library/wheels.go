//go:build nvidia

package library

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
)

// inWheels returns the files with a name that pip has put into Python's packages, where the loader does not look:
// in nvidia/cublas/lib, nvidia/cu13/lib and the like. inWheels looks without running Python: in the active
// environment, near the Python on PATH, and in the user's and the system's packages.
func inWheels(name string) (files []string) {
	for _, folder := range packageFolders() {
		found, _ := filepath.Glob(filepath.Join(folder, "nvidia", "*", "lib", name)) // the pattern is valid
		files = append(files, found...)
	}
	return files
}

// packageFolders returns the folders in which Python looks for packages, where psbench can determine them without
// running Python.
func packageFolders() []string {
	folders := filepath.SplitList(os.Getenv("PYTHONPATH"))
	prefixes := []string{os.Getenv("VIRTUAL_ENV"), os.Getenv("CONDA_PREFIX")}
	for _, python := range []string{"python3", "python"} {
		path, err := exec.LookPath(python)
		if err != nil {
			continue
		}
		target, err := filepath.EvalSymlinks(path)
		if err != nil {
			target = path
		}
		prefixes = append(prefixes, filepath.Dir(filepath.Dir(path)), filepath.Dir(filepath.Dir(target)))
	}
	if home, err := os.UserHomeDir(); err == nil {
		prefixes = append(prefixes, cmp.Or(os.Getenv("PYTHONUSERBASE"), filepath.Join(home, ".local")))
	}
	seen := map[string]bool{"": true}
	for _, prefix := range append(prefixes, "/usr/local", "/usr") {
		if seen[prefix] {
			continue
		}
		seen[prefix] = true
		for _, packages := range []string{"lib*/python3*/site-packages", "lib/python3*/dist-packages"} {
			// The pattern is valid unless prefix contains special characters.
			found, _ := filepath.Glob(filepath.Join(prefix, packages))
			folders = append(folders, found...)
		}
	}
	return folders
}
