// Command header makes two files for compiling CUDA code without a CUDA toolkit. The file cuda.h comes from the
// header in the module gorgonia.org/cu. The library libcuda.so is for linking; its functions do nothing. Neither
// file is part of the program: at run time, the loader takes the driver's own libcuda.so.1.
//
//	go run ./cuda/header -o DIR
//	go run ./cuda/header -symbols bin/psbench-cuda
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	dir := flag.String("o", "", "folder that cuda.h and libcuda.so are written into")
	compiler := flag.String("cc", "gcc", "C compiler that makes libcuda.so")
	binary := flag.String("symbols", "", "program of which to list the functions of the driver that it imports")
	flag.Parse()
	var err error
	switch {
	case *dir != "":
		err = write(*dir, *compiler)
	case *binary != "":
		err = list(*binary)
	default:
		err = errors.New("nothing to do: give -o DIR or -symbols PROGRAM")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "header:", err)
		os.Exit(1)
	}
}

func list(binary string) error {
	symbols, err := importedFunctions(binary)
	for _, name := range symbols {
		fmt.Println(name)
	}
	return err
}

func write(dir, compiler string) error {
	shipped, err := shippedHeader()
	if err != nil {
		return err
	}
	header, err := makeHeader(shipped)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	if err := replace(filepath.Join(dir, "cuda.h"), header); err != nil {
		return err
	}
	return makeStub(dir, compiler, functions(header))
}

// shippedHeader reads the header of gorgonia.org/cu from the module cache.
func shippedHeader() ([]byte, error) {
	const module = "gorgonia.org/cu"
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil {
		return nil, fmt.Errorf("go mod download %s: %w", module, err)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return nil, fmt.Errorf("go mod download %s: %w", module, err)
	}
	return os.ReadFile(filepath.Join(downloaded.Dir, "cmd", "genlib", "cuda.h"))
}

// replace writes a file if its content differs, so that dependent files are not compiled again needlessly.
func replace(path string, content []byte) error {
	old, err := os.ReadFile(path) //nolint:gosec // the caller names it
	if err == nil && string(old) == string(content) {
		return nil
	}
	return os.WriteFile(path, content, 0o600)
}
