package golden

import (
	"bytes"
	"encoding"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
)

// Commented returns a reflector that describes types by the comments of the packages in these folders. Folders are
// relative to the working directory, the top of the repository.
func Commented(t testing.TB, folders ...string) *jsonschema.Reflector {
	t.Helper()
	r := &jsonschema.Reflector{Anonymous: true, Mapper: textSchema}
	for _, folder := range folders {
		if err := r.AddGoComments("github.com/psbench/psbench", folder); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// textSchema returns the schema of a list that is text in JSON, such as CPUs. textSchema returns nil for all other
// types; the reflector handles those itself.
func textSchema(t reflect.Type) *jsonschema.Schema {
	if t.Kind() != reflect.Slice || !t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return nil
	}
	return &jsonschema.Schema{Type: "string"}
}

// Tagged returns a reflector that describes types by their doc tags. Types of files that users write
// have such tags.
func Tagged() *jsonschema.Reflector {
	return &jsonschema.Reflector{
		Anonymous: true, DoNotReference: true, ExpandedStruct: true, RequiredFromJSONSchemaTags: true,
		LookupComment: func(t reflect.Type, field string) string {
			if t.Kind() != reflect.Struct {
				return ""
			}
			f, _ := t.FieldByName(field)
			return f.Tag.Get("doc")
		},
	}
}

// SchemaText returns the text of a schema in the committed form.
func SchemaText(t testing.TB, schema any) []byte {
	t.Helper()
	data, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

// Validator returns a function that checks texts against the schema in a file.
func Validator(t testing.TB, path string) func(text string) error {
	t.Helper()
	schema, err := validator.NewCompiler().Compile(path)
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) error {
		t.Helper()
		instance, err := validator.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(instance)
	}
}

// RequireRefused requires that a schema refuses a text after one of its values, given by key, is replaced.
func RequireRefused(t testing.TB, validate func(text string) error, text string, changes map[string]string) {
	t.Helper()
	for part, changed := range changes {
		bad := strings.Replace(text, part, changed, 1)
		if bad == text {
			t.Fatalf("the example does not contain %s", part)
		}
		if validate(bad) == nil {
			t.Errorf("the schema accepts %s", changed)
		}
	}
}

// RequireNamed requires that a document names every field of the types in some schemas. RequireNamed skips types
// that another document describes.
func RequireNamed(t testing.TB, document string, elsewhere []string, schemas ...[]byte) {
	t.Helper()
	text, err := os.ReadFile(document) // #nosec G304 -- the test names it
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	for _, s := range schemas {
		if err := json.Unmarshal(s, &schema); err != nil { // all schemas go into the same map
			t.Fatal(err)
		}
	}
	for typ, def := range schema.Defs {
		for name := range def.Properties {
			if !slices.Contains(elsewhere, typ) && !bytes.Contains(text, []byte("`"+name+"`")) {
				t.Errorf("%s does not describe `%s` of %s", document, name, typ)
			}
		}
	}
}
