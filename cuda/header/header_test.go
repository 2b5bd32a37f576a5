package main

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func header(t *testing.T) []byte {
	t.Helper()
	shipped, err := shippedHeader()
	if err != nil {
		t.Fatal(err)
	}
	made, err := makeHeader(shipped)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func compiler(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("there is no gcc")
	}
	return path
}

// A program compiled against the header imports the later version of every function that has one.
func TestProgramsBindLaterVersions(t *testing.T) {
	gcc, dir := compiler(t), t.TempDir()
	made := header(t)
	var source strings.Builder
	source.WriteString("#include <cuda.h>\nconst void *all[] = {\n")
	var called []string
	for _, match := range declaration.FindAllSubmatch(made, -1) {
		called = append(called, string(match[1]))
		fmt.Fprintf(&source, "\t%s,\n", match[1])
	}
	source.WriteString("};\n")
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("cuda.h", string(made))
	object := filepath.Join(dir, "all.o")
	compile := exec.Command(gcc, "-Wno-deprecated-declarations", "-I"+dir, "-c", "-o", object,
		write("all.c", source.String()))
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	undefined := undefinedSymbols(t, object)
	for _, name := range called {
		if want := exported(name); !slices.Contains(undefined, want) {
			t.Errorf("a program that calls %s does not ask for %s", name, want)
		}
	}
	for _, name := range undefined {
		if later, ok := versions[name]; ok {
			t.Errorf("a program asks for %s, the function of CUDA 2 that is %s now", name, later)
		}
	}
	for _, name := range []string{"cuMemAlloc", "cuMemcpyHtoDAsync", "cuIpcOpenMemHandle", "cuMemHostRegister",
		"cuGraphInstantiate", "cuStreamBeginCapture", "cuDevicePrimaryCtxRelease"} {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains(called, name) {
				t.Errorf("the header declares no %s", name)
			}
		})
	}
}

func undefinedSymbols(t *testing.T, object string) []string {
	t.Helper()
	file, err := elf.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, symbol := range symbols {
		if symbol.Section == elf.SHN_UNDEF && symbol.Name != "" {
			names = append(names, symbol.Name)
		}
	}
	return names
}

// The stub has every function of the header and the driver's soname, but another file name.
func TestStub(t *testing.T) {
	gcc, dir := compiler(t), t.TempDir()
	if err := write(dir, gcc); err != nil {
		t.Fatal(err)
	}
	file, err := elf.Open(filepath.Join(dir, "libcuda.so"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	if names, err := file.DynString(elf.DT_SONAME); err != nil || !slices.Equal(names, []string{"libcuda.so.1"}) {
		t.Errorf("its soname is %v, %v", names, err)
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var defined []string
	for _, symbol := range symbols {
		if symbol.Section != elf.SHN_UNDEF && strings.HasPrefix(symbol.Name, "cu") {
			defined = append(defined, symbol.Name)
		}
	}
	slices.Sort(defined)
	if diff := cmp.Diff(functions(header(t)), defined); diff != "" {
		t.Errorf("functions of the header (-) and of the stub (+):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "libcuda.so.1")); err == nil {
		t.Error("the stub lies where the loader looks for the driver")
	}
}

func TestHeaderNeedsItsBeginning(t *testing.T) {
	_, err := makeHeader([]byte("typedef int CUdevice;\n"))
	const want = `the header of gorgonia.org/cu has no line "typedef uint32_t cuuint32_t;", which the declarations of CUDA begin with`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nbut want\n%s", err, want)
	}
}

// The target of a redirection is not redirected itself.
func TestVersionsEnd(t *testing.T) {
	for name, later := range versions {
		t.Run(name, func(t *testing.T) {
			if _, again := versions[later]; again || !strings.HasPrefix(later, name+"_v") {
				t.Errorf("%s is redirected to %s", name, later)
			}
		})
	}
}

func TestImportedFunctionsNeedsTheDriver(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := importedFunctions(executable); err == nil {
		t.Errorf("%s is said to load the driver", executable)
	}
}
