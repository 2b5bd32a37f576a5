package main

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// soname is the library name that programs linked against the stub request from the loader.
const soname = "libcuda.so.1"

// makeStub compiles dir/libcuda.so, which has all functions without code. The library's file name is not
// libcuda.so.1, so that no loader mistakes it for the driver.
func makeStub(dir, compiler string, names []string) error {
	var source bytes.Buffer
	for _, name := range names {
		fmt.Fprintf(&source, "void %s(void) {}\n", name)
	}
	path := filepath.Join(dir, "stub.c")
	if err := replace(path, source.Bytes()); err != nil {
		return err
	}
	compile := exec.Command(compiler, "-shared", "-nostdlib", "-fno-builtin", //nolint:gosec // the caller names it
		"-Wl,-soname,"+soname, "-o", filepath.Join(dir, "libcuda.so"), path)
	if out, err := compile.CombinedOutput(); err != nil {
		return fmt.Errorf("%s makes no stub of the driver: %w\n%s", compiler, err, out)
	}
	return nil
}

// importedFunctions returns the sorted names of the driver functions that a program imports.
func importedFunctions(program string) ([]string, error) {
	file, err := elf.Open(program)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	libraries, err := file.ImportedLibraries()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	if !slices.Contains(libraries, soname) {
		return nil, fmt.Errorf("%s does not load %s but %v: it was built without the tag nvidia", program, soname,
			libraries)
	}
	symbols, err := file.ImportedSymbols()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	var names []string
	for _, symbol := range symbols {
		if rest, ok := strings.CutPrefix(symbol.Name, "cu"); ok && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z' {
			names = append(names, symbol.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
