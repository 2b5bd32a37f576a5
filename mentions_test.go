package psbench_test

import (
	"go/types"
	"strings"
)

// internalTypes lists the internal types of this module that the exported names of a package mention.
func internalTypes(p *types.Package) []string {
	m := mentions{of: p, visited: map[types.Type]bool{}}
	for _, name := range p.Scope().Names() {
		object := p.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		declared, isType := object.(*types.TypeName)
		switch {
		case !isType:
			m.visit(object.Type())
		case !declared.IsAlias(): // authors can name an aliased type
			m.declaration(declared.Type().(*types.Named))
		}
	}
	return m.found
}

// mentions collects internal types that the exported names of a package mention.
type mentions struct {
	of      *types.Package
	visited map[types.Type]bool
	found   []string
}

// declaration visits a declared type's methods and its underlying type.
func (m *mentions) declaration(named *types.Named) {
	for method := range named.Methods() {
		if method.Exported() {
			m.visit(method.Type())
		}
	}
	m.visit(named.Underlying())
}

func (m *mentions) visit(t types.Type) {
	if m.visited[t] {
		return
	}
	m.visited[t] = true
	switch t := t.(type) {
	case *types.Named:
		m.named(t)
	case *types.Pointer:
		m.visit(t.Elem())
	case *types.Slice:
		m.visit(t.Elem())
	case *types.Array:
		m.visit(t.Elem())
	case *types.Chan:
		m.visit(t.Elem())
	case *types.Map:
		m.visit(t.Key())
		m.visit(t.Elem())
	case *types.Signature:
		m.signature(t)
	case *types.Struct:
		m.fields(t)
	case *types.Interface:
		for method := range t.ExplicitMethods() {
			m.visit(method.Type())
		}
		for embedded := range t.EmbeddedTypes() {
			m.visit(embedded)
		}
	}
}

// named records an internal type of this module, because plugin authors cannot name it.
func (m *mentions) named(t *types.Named) {
	for argument := range t.TypeArgs().Types() {
		m.visit(argument)
	}
	p := t.Obj().Pkg()
	if p == nil || !strings.HasPrefix(p.Path(), modulePath+"/") {
		return
	}
	if path := withinModule(p.Path()); isInternal(path) {
		m.found = append(m.found, path+"."+t.Obj().Name())
	} else if p == m.of && !t.Obj().Exported() {
		m.declaration(t) // its exported methods and fields are reachable nevertheless
	}
}

func (m *mentions) signature(s *types.Signature) {
	for parameter := range s.TypeParams().TypeParams() {
		m.visit(parameter.Constraint())
	}
	for parameter := range s.Params().Variables() {
		m.visit(parameter.Type())
	}
	for result := range s.Results().Variables() {
		m.visit(result.Type())
	}
}

// fields visits exported fields. It also visits embedded fields, because their own fields are promoted.
func (m *mentions) fields(s *types.Struct) {
	for field := range s.Fields() {
		if field.Exported() || field.Embedded() {
			m.visit(field.Type())
		}
	}
}
