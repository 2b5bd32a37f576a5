package registry

import (
	"reflect"
	"strings"

	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/sdk"
)

// Kinds lists all kinds of parts in the order in which psbench shows them.
var Kinds = []sdk.Kind{
	sdk.KindTrainer, sdk.KindServer, sdk.KindHook, sdk.KindCriterion, sdk.KindData, sdk.KindModel,
	sdk.KindDDPModel, sdk.KindHookState, sdk.KindIterationStep, sdk.KindPreprocessData,
}

// Isolable lists the kinds whose parts share the process of their trainer by default. The user or a part's plugin may
// require a separate process.
var Isolable = []sdk.Kind{sdk.KindHook, sdk.KindCriterion, sdk.KindModel}

// kindMap describes one of the maps in a file.
type kindMap struct {
	name  string
	kind  sdk.Kind
	field int          // index of the field in File
	typ   reflect.Type // type of an entry
}

// kindMaps lists the maps of a file in the order of the fields of File.
var kindMaps = func() (maps []kindMap) {
	for field := range reflect.TypeFor[File]().Fields() {
		if kind, ok := field.Tag.Lookup("kind"); ok {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			maps = append(maps, kindMap{name, sdk.Kind(kind), field.Index[0], field.Type.Elem()})
		}
	}
	return maps
}()

// MapName returns the name of a kind's map in registry files, or "" for an unknown kind.
func MapName(kind sdk.Kind) string {
	for _, m := range kindMaps {
		if m.kind == kind {
			return m.name
		}
	}
	return ""
}

// Put adds an entry that says only which plugin provides a key. psbench must know the kind.
func (f *File) Put(kind sdk.Kind, key, plugin string) {
	for _, m := range kindMaps {
		if m.kind != kind {
			continue
		}
		entries := reflect.ValueOf(f).Elem().Field(m.field)
		if entries.IsNil() {
			entries.Set(reflect.MakeMap(entries.Type()))
		}
		e := reflect.New(m.typ).Elem()
		e.FieldByName("Plugin").SetString(plugin)
		entries.SetMapIndex(reflect.ValueOf(key), e)
	}
}

// entries returns the entries of this map in a file.
func (m kindMap) entries(f *File) map[string]entry {
	all := map[string]entry{}
	for key, e := range reflect.ValueOf(f).Elem().Field(m.field).Seq2() {
		all[key.String()] = e.Interface().(written).entry()
	}
	return all
}

// parse parses one entry of the file at path.
func (m kindMap) parse(path string, text []byte) (entry, error) {
	e := reflect.New(m.typ)
	err := jsonfile.Decode(path, text, e.Interface())
	return e.Elem().Interface().(written).entry(), err
}
