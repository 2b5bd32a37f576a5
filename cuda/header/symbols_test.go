//go:build nvidia

package main

import (
	"debug/elf"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// psbench-cuda as built by make cuda imports the later version of every function that has one. testdata/symbols.txt
// lists these imports.
func TestSymbolsOfPsbenchCUDA(t *testing.T) {
	imported, err := importedFunctions("../../bin/psbench-cuda")
	if err != nil {
		t.Fatalf("%v: make cuda builds it", err)
	}
	declared := functions(header(t))
	for _, name := range imported {
		if later, ok := versions[name]; ok {
			t.Errorf("it imports %s, the function of CUDA 2 that is %s now", name, later)
		}
		if !slices.Contains(declared, name) {
			t.Errorf("it imports %s, which the header does not declare", name)
		}
	}
	for _, name := range []string{"cuMemAlloc_v2", "cuMemHostRegister_v2", "cuIpcOpenMemHandle_v2",
		"cuGraphInstantiate_v2", "cuLaunchKernel"} {
		if !slices.Contains(imported, name) {
			t.Errorf("it does not import %s, so this test sees nothing of what is called", name)
		}
	}
	// If the program bound all functions at its start, every driver would have to have all of them.
	program, err := elf.Open("../../bin/psbench-cuda")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = program.Close() }()
	now, err1 := program.DynValue(elf.DT_BIND_NOW)
	flags, err2 := program.DynValue(elf.DT_FLAGS)
	more, err3 := program.DynValue(elf.DT_FLAGS_1)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	among := func(flags []uint64, flag uint64) bool {
		return slices.ContainsFunc(flags, func(f uint64) bool { return f&flag != 0 })
	}
	if len(now) > 0 || among(flags, uint64(elf.DF_BIND_NOW)) || among(more, uint64(elf.DF_1_NOW)) {
		t.Error(
			"it binds all functions when it starts, not when they are first called: make cuda links it with -z lazy")
	}
	listed, err := os.ReadFile("testdata/symbols.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Fields(string(listed)), imported); diff != "" {
		t.Errorf("testdata/symbols.txt lists (-), psbench-cuda imports (+); make cuda-symbols prints them:\n%s", diff)
	}
}
