package verify

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/psbench/psbench/internal/golden"
)

const schemaFile = "schemas/case.schema.json"

// generateSchema generates the JSON schema of all kinds of cases. Comments of the types become descriptions. The
// working directory must be the top of the repository.
func generateSchema(t *testing.T) []byte {
	t.Helper()
	all := &jsonschema.Schema{Version: jsonschema.Version, Title: "A reference case of psbench verify"}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		r := &jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true}
		if err := r.AddGoComments("github.com/psbench/psbench", "./core/measure/verify"); err != nil {
			t.Fatal(err)
		}
		s := r.Reflect(kinds[kind]())
		s.Version, s.Title = "", kind
		key, ok := s.Properties.Get("kind")
		if !ok {
			t.Fatalf("a case of kind %s has no property kind", kind)
		}
		key.Const = kind
		if server, ok := s.Properties.Get("server"); ok && kind == "ddp" {
			server.Type, server.OneOf = "", []*jsonschema.Schema{{Type: "string"}, {Type: "null"}}
		}
		all.OneOf = append(all.OneOf, s)
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

func TestSchemaIsUpToDate(t *testing.T) {
	t.Chdir("../../..")
	golden.Require(t, schemaFile, string(generateSchema(t)))
}

// All built-in cases and recorded cases satisfy the schema. A broken case does not.
func TestSchemaFitsTheCases(t *testing.T) {
	compiled, err := validator.NewCompiler().Compile("../../../" + schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	follows := func(raw []byte) error {
		v, err := validator.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		return compiled.Validate(v)
	}
	files, err := reference.ReadDir("reference")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		raw, err := reference.ReadFile("reference/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := follows(raw); err != nil {
			t.Errorf("%s: %v", f.Name(), err)
		}
		for name, change := range map[string][2]string{
			"an unknown key": {`"seed"`, `"more": 1, "seed"`},
			"another kind":   {`"kind": "`, `"kind": "x`},
			"no tolerance":   {`"tolerance"`, `"tolerances"`},
		} {
			if follows(bytes.Replace(raw, []byte(change[0]), []byte(change[1]), 1)) == nil {
				t.Errorf("%s with %s follows the schema", f.Name(), name)
			}
		}
	}
	raw, err := json.Marshal(recordedCase())
	if err != nil {
		t.Fatal(err)
	}
	if err := follows(raw); err != nil {
		t.Error(err)
	}
}
