package registry

import (
	"reflect"
	"strings"

	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/sdk"
)

// Kinds lists every kind of part in the order in which they are shown.
var Kinds = []sdk.Kind{
	sdk.KindTrainer, sdk.KindServer, sdk.KindHook, sdk.KindCriterion, sdk.KindData, sdk.KindModel,
	sdk.KindDDPModel, sdk.KindHookState, sdk.KindIterationStep, sdk.KindPreprocessData,
}

// Isolable lists the kinds that share the process of their trainer unless the user, or the
// plugin that provides them, wants otherwise.
var Isolable = []sdk.Kind{sdk.KindHook, sdk.KindCriterion, sdk.KindModel}

// kindMap is one of the maps that every file has.
type kindMap struct {
	name  string
	kind  sdk.Kind
	field int          // of File
	typ   reflect.Type // of an entry
}

// kindMaps are the maps of a file in their order, as the fields of File have them.
var kindMaps = func() (maps []kindMap) {
	for field := range reflect.TypeFor[File]().Fields() {
		if kind, ok := field.Tag.Lookup("kind"); ok {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			maps = append(maps, kindMap{name, sdk.Kind(kind), field.Index[0], field.Type.Elem()})
		}
	}
	return maps
}()

// MapName is what registry files call the map of a kind; "" of a kind that psbench does not know.
func MapName(kind sdk.Kind) string {
	for _, m := range kindMaps {
		if m.kind == kind {
			return m.name
		}
	}
	return ""
}

// Put adds an entry that says no more than which plugin provides a key of a kind that psbench knows.
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

// entries are those of a file.
func (m kindMap) entries(f *File) map[string]entry {
	all := map[string]entry{}
	for key, e := range reflect.ValueOf(f).Elem().Field(m.field).Seq2() {
		all[key.String()] = e.Interface().(written).entry()
	}
	return all
}

// parse reads one entry, as that of a file at a path.
func (m kindMap) parse(path string, text []byte) (entry, error) {
	e := reflect.New(m.typ)
	err := jsonfile.Decode(path, text, e.Interface())
	return e.Elem().Interface().(written).entry(), err
}
