package fabric

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Code must not ask which fabric runs. Outside of the listed packages, no code
// compares a fabric's or network's name, and no code contains such a name as a
// string.
func TestNobodyComparesNames(t *testing.T) {
	const root = "../../.."
	rooms := []string{"internal/comm/fabric/", "internal/comm/wire/", "internal/comm/linktest/",
		"internal/host/hosttest/",
		"internal/host/protocol/protocoltest/",    // package net uses the same names
		"core/process/agent/",                     // compares names of package net
		"core/study/sweep/share/share.go",         // a socket without a file names a network of package net
		"core/host/placement/address.go",          // an address is tried on a network of package net
		"core/process/launch/child.go",            // go-plugin's handshake names a network of package net
		"core/plan/config/option/servicelinks.go", // a variable of Docker's links names an IP protocol
		"core/host/executable/modules.go"}         // a Python package has the same name
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != "."):
			return fs.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
			slices.ContainsFunc(rooms, func(room string) bool { return strings.HasPrefix(name, room) }):
			return nil
		}
		file := token.NewFileSet()
		parsed, err := parser.ParseFile(file, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, found := range comparisons(parsed) {
			t.Errorf("%s:%d compares %s: ask the fabric what it can do instead", name, file.Position(found.Pos()).Line,
				show(found))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The test above finds what it forbids.
func TestComparisonsAreSeen(t *testing.T) {
	for source, want := range map[string]int{
		`if transport == "shm" {}`:                        1,
		`if "tcp" != exp.Transport {}`:                    1,
		`if f.Name == other {}`:                           0,
		`if exp.Fabric.Name == x {}`:                      1,
		`if fabric.Name != x {}`:                          1,
		`if r.Fabric.Network == wire.TCP {}`:              1,
		`if l.fabric.Network.Name() == x {}`:              1,
		`switch transport { case "grpc", "unix": }`:       2,
		`switch exp.Fabric.Name { case x: }`:              1,
		`_ = map[string]bool{"shm": true}`:                1,
		`_ = slices.Contains([]string{"tcp", "grpc"}, t)`: 2,
		`if fabric == slowest {}`:                         1,
		`if operation == "allreduce" || f.OnOneHost() {}`: 0,
		`const fast = "shm"`:                              1,
		`if strings.EqualFold(transport, "tcp") {}`:       1,
		`if name == "s" + ("h" + "m") {}`:                 1,
		`fmt.Println(exp.Fabric.Name, "x")`:               0,
	} {
		t.Run(source, func(t *testing.T) {
			file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() { "+source+" }",
				parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if got := comparisons(file); len(got) != want {
				t.Errorf("%s: %d comparisons, want %d", source, len(got), want)
			}
		})
	}
}

// comparisons returns two kinds of expressions in a file: strings that are
// names of fabrics, and comparisons with a fabric, a network or its name.
func comparisons(file *ast.File) (found []ast.Expr) {
	note := func(all ...ast.Expr) {
		for _, e := range all {
			if namesFabric(e) {
				found = append(found, e)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			switch {
			case written(n):
				note(n)
				return false
			case (n.Op == token.EQL || n.Op == token.NEQ) && !written(n.X) && !written(n.Y):
				before := len(found)
				if note(n.X); len(found) == before {
					note(n.Y)
				}
			}
		case *ast.SwitchStmt:
			if n.Tag != nil {
				note(n.Tag)
			}
		case *ast.CaseClause:
			for _, e := range n.List {
				if !written(e) { // a written name is reported at its own position
					note(e)
				}
			}
		case *ast.BasicLit:
			note(n)
			return false
		}
		return true
	})
	return found
}

// namesFabric reports whether an expression is a fabric's name, as a string or
// a field, or a fabric or a network itself.
func namesFabric(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit, *ast.BinaryExpr, *ast.ParenExpr:
		text, ok := text(e)
		return ok && slices.Contains(Names(), text)
	case *ast.Ident:
		return strings.EqualFold(e.Name, "fabric")
	case *ast.SelectorExpr:
		return e.Sel.Name == "Fabric" || e.Sel.Name == "fabric" || e.Sel.Name == "Network" ||
			e.Sel.Name == "Name" && namesFabric(e.X)
	case *ast.CallExpr:
		return namesFabric(e.Fun)
	}
	return false
}

func written(e ast.Expr) bool {
	_, ok := text(e)
	return ok
}

// text is the value of a string constant, including a concatenation of
// constants.
func text(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.ParenExpr:
		return text(e.X)
	case *ast.BinaryExpr:
		left, ok := text(e.X)
		right, also := text(e.Y)
		return left + right, ok && also && e.Op == token.ADD
	}
	return "", false
}

func show(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Value
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return show(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		return show(e.Fun) + "()"
	}
	return fmt.Sprintf("%T", e)
}
