package main

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// begin is the first line of the shipped header that belongs to CUDA. Earlier lines are the C library's
// declarations from the machine on which the header was preprocessed.
const begin = "typedef uint32_t cuuint32_t;"

// preamble restores definitions that the preprocessor removed and that users of the header need.
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

// makeHeader makes a usable header from the preprocessed one. makeHeader drops the lines before CUDA's own
// declarations. makeHeader redirects every function with a later version to that version, as CUDA's own header
// does. Otherwise, a program would bind the entry points of CUDA 2, which use 32-bit addresses and sizes.
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

// functions returns the sorted driver names of the functions that a made header declares.
func functions(header []byte) []string {
	var names []string
	for _, match := range declaration.FindAllSubmatch(header, -1) {
		names = append(names, exported(string(match[1])))
	}
	slices.Sort(names)
	return slices.Compact(names)
}
