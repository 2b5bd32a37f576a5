package main

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// begin is the first line of the shipped header that is CUDA's own. Before it stand the C library's
// declarations of the machine that the header was preprocessed on.
const begin = "typedef uint32_t cuuint32_t;"

// preamble is what the preprocessor took out of the header and what compiles against it needs.
const preamble = `/* Made of the header that gorgonia.org/cu ships. */
#ifndef PSBENCH_CUDA_H
#define PSBENCH_CUDA_H

#include <stdint.h>
#include <stdlib.h>

#define CU_TRSF_READ_AS_INTEGER 0x01
#define CU_TRSF_NORMALIZED_COORDINATES 0x02

#define CU_MEMHOSTALLOC_PORTABLE 0x01
#define CU_MEMHOSTREGISTER_PORTABLE 0x01
#define CU_MEMHOSTREGISTER_READ_ONLY 0x08

`

// makeHeader makes a header that compiles of the preprocessed one: what stands before CUDA's own
// declarations is dropped, and every function that has a later version is redirected to it, as
// CUDA's own header does. Without that a program would bind the entry points of CUDA 2, whose
// addresses and sizes have 32 bits.
func makeHeader(shipped []byte) ([]byte, error) {
	at := bytes.Index(shipped, []byte(begin))
	if at < 0 {
		return nil, fmt.Errorf(
			"the header of gorgonia.org/cu has no line %q, which the declarations of CUDA begin with", begin)
	}
	var b bytes.Buffer
	b.WriteString(preamble)
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		fmt.Fprintf(&b, "#define %s %s\n", name, versions[name])
	}
	b.WriteByte('\n')
	b.Write(shipped[at:])
	b.WriteString("\n#endif\n")
	return b.Bytes(), nil
}

var declaration = regexp.MustCompile(`\bCUresult\s+(cu[A-Z]\w*)\s*\(`)

// functions are the names that the functions declared in a made header have in the driver, sorted.
func functions(header []byte) []string {
	var names []string
	for _, match := range declaration.FindAllSubmatch(header, -1) {
		names = append(names, exported(string(match[1])))
	}
	slices.Sort(names)
	return slices.Compact(names)
}
