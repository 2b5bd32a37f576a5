package golden

import (
	"encoding"
	"reflect"

	"github.com/invopop/jsonschema"
)

// TextSchema is the schema of a list that is text in JSON, as CPUs are; nil for every other type, of which
// the reflector finds out by itself. It is a reflector's Mapper.
func TextSchema(t reflect.Type) *jsonschema.Schema {
	if t.Kind() != reflect.Slice || !t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return nil
	}
	return &jsonschema.Schema{Type: "string"}
}
