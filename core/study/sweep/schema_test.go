package sweep

import (
	"path/filepath"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/psbench/psbench"
	"github.com/psbench/psbench/internal/golden"
)

const schemaFile = "../../../schemas/sweep.schema.json"

// specSchema describes specifications. Their base is a configuration, for which it refers to the schema of
// configurations.
func specSchema() *jsonschema.Schema {
	s := golden.Tagged().Reflect(&Spec{})
	s.Title = "A specification of a sweep of psbench"
	base, _ := s.Properties.Get("base")
	base.Type, base.Ref = "", "config.schema.json"
	one := uint64(1)
	axes, _ := s.Properties.Get("axes")
	axes.Items = &jsonschema.Schema{
		Type: "object", MinProperties: &one, MaxProperties: &one,
		Description: "the axis by its name: an option, KIND.SETTING of a part, build, or any name of groups",
		AdditionalProperties: &jsonschema.Schema{
			Description: `a list of values, of ranges such as "1..8*2", or of groups {"name": ..., KEY: VALUE}; or one of them`,
		},
	}
	return s
}

func TestSchemaIsUpToDate(t *testing.T) {
	golden.Require(t, schemaFile, string(golden.SchemaText(t, specSchema())))
}

func TestSpecificationsSatisfyTheSchema(t *testing.T) {
	check := golden.Validator(t, filepath.FromSlash(schemaFile))
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
	for _, bad := range []string{`{}`, `{"axes": [{}]}`, `{"axes": [{"server": ["a"], "data": ["b"]}]}`,
		`{"axes": [], "base": {"epoch": 1}}`, `{"axes": [], "repeats": 0}`} {
		t.Run(bad, func(t *testing.T) {
			if check(bad) == nil {
				t.Errorf("the schema accepts %s", bad)
			}
		})
	}
}
