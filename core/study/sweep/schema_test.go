package sweep

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/psbench/psbench"
	"github.com/psbench/psbench/internal/golden"
)

const schemaFile = "../../../schemas/sweep.schema.json"

// specSchema is that of specifications: the base is a configuration, which has a schema of its own.
func specSchema() *jsonschema.Schema {
	r := &jsonschema.Reflector{
		Anonymous: true, DoNotReference: true, ExpandedStruct: true, RequiredFromJSONSchemaTags: true,
		LookupComment: func(t reflect.Type, field string) string {
			if t.Kind() != reflect.Struct {
				return ""
			}
			f, _ := t.FieldByName(field)
			return f.Tag.Get("doc")
		},
	}
	s := r.Reflect(&Spec{})
	s.Title = "A specification of a sweep of psbench"
	base, _ := s.Properties.Get("base")
	base.Type, base.Ref = "", "config.schema.json"
	one := uint64(1)
	axes, _ := s.Properties.Get("axes")
	axes.Items = &jsonschema.Schema{
		Type: "object", MinProperties: &one, MaxProperties: &one,
		Description:          "the axis by its name: an option, KIND.SETTING of a part, build, or any name of groups",
		AdditionalProperties: &jsonschema.Schema{Description: `a list of values, of ranges such as "1..8*2", or of groups {"name": ..., KEY: VALUE}; or one of them`},
	}
	return s
}

func TestSchemaIsUpToDate(t *testing.T) {
	want, err := json.MarshalIndent(specSchema(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Require(t, schemaFile, string(want)+"\n")
}

func TestSpecificationsSatisfyTheSchema(t *testing.T) {
	s, err := validator.NewCompiler().Compile(filepath.FromSlash(schemaFile))
	if err != nil {
		t.Fatal(err)
	}
	check := func(text string) error {
		instance, err := validator.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return s.Validate(instance)
	}
	if err := check(named); err != nil {
		t.Error(err)
	}
	for _, name := range Ready() {
		text, err := psbench.Files.ReadFile(readyFolder + "/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := check(string(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bad := range []string{`{}`, `{"axes": [{}]}`, `{"axes": [{"server": ["a"], "data": ["b"]}]}`, `{"axes": [], "base": {"epoch": 1}}`, `{"axes": [], "repeats": 0}`} {
		if check(bad) == nil {
			t.Errorf("the schema accepts %s", bad)
		}
	}
}
