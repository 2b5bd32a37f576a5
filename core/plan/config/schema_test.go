package config

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/psbench/psbench"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/golden"
)

const schemaFolder = "../../../schemas"

// schemas returns the schemas of the files that users write, by file name.
func schemas() map[string]*jsonschema.Schema {
	return map[string]*jsonschema.Schema{
		"registry.schema.json": titled("A registry of psbench plugins", golden.Tagged().Reflect(&registry.File{})),
		"config.schema.json":   configSchema(),
		"models.schema.json": byName("Model configurations of psbench", "configurations by id",
			golden.Tagged().Reflect(&ModelConfiguration{})),
		"data.schema.json": byName("Data configurations of psbench", "configurations by id",
			golden.Tagged().Reflect(&DataConfiguration{})),
		"settings.schema.json": byName("Settings of psbench's servers or trainers", "settings by key",
			&jsonschema.Schema{Type: "object"}),
	}
}

func titled(title string, s *jsonschema.Schema) *jsonschema.Schema {
	s.Title = title
	return s
}

func configSchema() *jsonschema.Schema {
	s := titled("A run configuration of psbench", golden.Tagged().Reflect(&option.Options{}))
	s.Properties.Delete("config")
	s.Properties.Set("$schema", &jsonschema.Schema{Type: "string"})
	for _, o := range option.All() {
		p, ok := s.Properties.Get(o.Key)
		if !ok {
			continue
		}
		if o.Default != "" {
			p.Default = option.Text(o.Default).Value()
		}
		allowed := p
		switch o.Type {
		case option.List:
			allowed = p.Items
		case option.Integer:
			p.Minimum, p.Maximum = number(o.Min), number(o.Max)
			if o.Max == math.MaxUint64 { // the option is a seed
				p.Minimum = json.Number(strconv.Itoa(math.MinInt64))
			}
		case option.Size:
			p.Pattern = "^[0-9]+([KMGkmg]([Ii][Bb])?|[Bb])?$"
		case option.Number:
			p.ExclusiveMinimum, p.Maximum = number(0), number(o.Max)
		}
		if o.OrInteger {
			allowed = &jsonschema.Schema{Type: p.Type}
			p.Type, p.AnyOf = "", []*jsonschema.Schema{allowed, {Type: "string", Pattern: "^[0-9]+$"},
				{Type: "integer", Minimum: number(o.Min), Maximum: number(o.Max)}}
		}
		for _, value := range o.Enum {
			allowed.Enum = append(allowed.Enum, value)
		}
	}
	return s
}

func number(n uint64) json.Number {
	data, _ := json.Marshal(n)
	return json.Number(data)
}

// byName returns the schema of an object whose values all have the schema value.
func byName(title, description string, value *jsonschema.Schema) *jsonschema.Schema {
	value.Version = ""
	properties := jsonschema.NewProperties()
	properties.Set("$schema", &jsonschema.Schema{Type: "string"})
	return &jsonschema.Schema{
		Version: jsonschema.Version, Title: title, Description: description,
		Type: "object", Properties: properties, AdditionalProperties: value,
	}
}

func TestSchemasAreUpToDate(t *testing.T) {
	for name, schema := range schemas() {
		golden.Require(t, filepath.Join(schemaFolder, name), string(golden.SchemaText(t, schema)))
	}
}

// validate checks a text against a committed schema.
func validate(t *testing.T, schema, content string) error {
	t.Helper()
	return golden.Validator(t, filepath.Join(schemaFolder, schema))(content)
}

func TestEmbeddedFilesSatisfyTheSchemas(t *testing.T) {
	for file, schema := range map[string]string{
		"registry.json":       "registry.schema.json",
		"configs/models.json": "models.schema.json",
		"configs/data.json":   "data.schema.json",
	} {
		t.Run(file, func(t *testing.T) {
			data, err := psbench.Files.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := validate(t, schema, string(data)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		})
	}
}

func TestSchemasRefuseWhatTheReadersRefuse(t *testing.T) {
	for _, test := range []struct{ schema, good, bad string }{
		{"config.schema.json", `{"epochs": 2, "set": {"model": {"sparse": true}}}`, `{"epoch": 2}`},
		{"config.schema.json", `{"batch_size": 1}`, `{"batch_size": 0}`},
		{"config.schema.json", `{"isolate": ["hook"]}`, `{"isolate": ["server"]}`},
		{"config.schema.json", `{"backend": "gloo"}`, `{"config": "other.json"}`},
		{"registry.schema.json", `{"model_map": {"m": {"plugin": "p"}}}`, `{"models": {}}`},
		{"registry.schema.json", `{"ddp_hook_map": {"h": {"plugin": "p", "links": ["server"]}}}`,
			`{"ddp_hook_map": {"h": {"plugin": "p", "links": ["net"]}}}`},
		{"registry.schema.json", `{"ddp_hook_map": {"h": {"plugin": "p"}}}`, `{"ddp_hook_map": {"h": {"links": []}}}`},
		{"registry.schema.json", `{"plugins": {"p": {"command": ["x"]}}}`, `{"plugins": {"p": {"command": []}}}`},
		{"registry.schema.json", `{}`, `{"plugins": {"p": {"command": ["x"], "sha256": "12"}}}`},
		{"models.schema.json", `{"a": {"model_class": "dummy", "configurations": {"x": 1}}}`,
			`{"a": {"data_class": "dummy"}}`},
		{"data.schema.json", `{"a": {"data_class": "dummy"}}`, `{"a": {"data_class": "dummy", "configuration": {}}}`},
		{"settings.schema.json", `{"average": {"x": 1}}`, `{"average": 1}`},
	} {
		t.Run(test.schema, func(t *testing.T) {
			if err := validate(t, test.schema, test.good); err != nil {
				t.Errorf("%s refuses %s: %v", test.schema, test.good, err)
			}
			if validate(t, test.schema, test.bad) == nil {
				t.Errorf("%s accepts %s", test.schema, test.bad)
			}
		})
	}
}
