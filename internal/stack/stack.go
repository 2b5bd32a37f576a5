// Package stack parses the goroutine stacks that the Go runtime prints, and finds the owner of the code.
package stack

import (
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

// Owner is the owner of a function's code.
type Owner int

// The owners: Go's own packages, psbench, the plugin, and libraries. psbench and plugins may use the same
// libraries, so a library's frame belongs to the caller that called or started it.
const (
	Go Owner = iota
	Psbench
	Part
	Library
)

// OwnerOf returns the owner of a function in a file of the folder dir. Go's own packages are in a folder src
// followed by their name. With -trimpath, the folder is the name alone. Some functions of these packages are part
// of the runtime and are in its folder.
func OwnerOf(function, dir string) Owner {
	base := path.Base(function)
	name, _, inPackage := strings.Cut(base, ".")
	pkg := path.Join(path.Dir(function), name)
	first, _, _ := strings.Cut(pkg, "/")
	trimmed := dir == pkg && !strings.Contains(first, ".")
	psbench, ours := strings.CutPrefix(pkg, "github.com/psbench/psbench/")
	switch {
	case pkg == "main":
		return Part
	case !inPackage || trimmed || strings.HasSuffix(dir, "/src/"+pkg) || dir == "runtime" ||
		strings.HasSuffix(dir, "/src/runtime"):
		return Go
	case ours && !strings.HasPrefix(psbench, "plugins/"):
		return Psbench
	case ours, pkg == module(), strings.HasPrefix(pkg, module()+"/"):
		return Part
	default:
		return Library
	}
}

// module returns the path of the executable's main module. In a plugin this is the plugin's module.
var module = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path != "" {
		return info.Main.Path
	}
	return "main"
})

// Frame is a call on a stack.
type Frame struct {
	Function string // name with its package path, without arguments
	Place    string // file:line
}

// FrameOf parses two lines of a stack trace: a call and its place.
func FrameOf(call, place string) Frame {
	if at := strings.LastIndexByte(call, '('); at > 0 {
		call = call[:at]
	}
	place, _, _ = strings.Cut(strings.TrimPrefix(place, "\t"), " +0x")
	return Frame{call, place}
}

// Owner returns the owner of the frame's function.
func (f Frame) Owner() Owner { return OwnerOf(f.Function, path.Dir(f.Place)) }

// String formats the frame for messages, as in main.(*server).Receive (parts.go:12).
func (f Frame) String() string { return path.Base(f.Function) + " (" + path.Base(f.Place) + ")" }

// Goroutine is one goroutine in the output of runtime.Stack.
type Goroutine struct {
	ID      string
	Mark    Mark    // the mark that it inherited
	Frames  []Frame // innermost first
	Creator Frame   // the go statement that started it; empty for the main goroutine
}

// Root returns the outermost call outside Go's own packages, which start goroutines for other code. Root is empty
// if all calls are in Go's packages.
func (g Goroutine) Root() Frame {
	for _, f := range slices.Backward(g.Frames) {
		if f.Owner() != Go {
			return f
		}
	}
	return Frame{}
}

// Parse reads the output of runtime.Stack.
func Parse(text string) []Goroutine {
	var all []Goroutine
	for block := range strings.SplitSeq(text, "\n\n") {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		rest, is := strings.CutPrefix(lines[0], "goroutine ")
		if !is {
			continue
		}
		var g Goroutine
		g.ID, rest, _ = strings.Cut(rest, " ")
		g.Mark = markIn(rest)
		for i := 1; i+1 < len(lines); i += 2 {
			if creator, is := strings.CutPrefix(lines[i], "created by "); is {
				creator, _, _ = strings.Cut(creator, " in goroutine ")
				g.Creator = FrameOf(creator+"()", lines[i+1])
				break
			}
			g.Frames = append(g.Frames, FrameOf(lines[i], lines[i+1]))
		}
		all = append(all, g)
	}
	return all
}
