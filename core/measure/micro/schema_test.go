package micro

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/internal/golden"
)

const (
	schemaFile = "schemas/comm.schema.json"
	docFile    = "docs/comm.md"

	folderSchemaFile = "schemas/comm-folder.schema.json"
)

// generateSchema generates the JSON schema of the types. Comments become descriptions. The working directory must be
// the top of the repository.
func generateSchema(t *testing.T) []byte {
	t.Helper()
	r := golden.Commented(t, "./core/measure/micro", "./core/record/result", "./core/host/noise", "./core/host/machine",
		"./comm",
		"./internal/comm/limits")
	s := r.Reflect(&Result{})
	s.Title = "A result of psbench comm"
	schema, ok := s.Definitions["Result"].Properties.Get("schema")
	if !ok {
		t.Fatal("Result has no property schema")
	}
	schema.Const = Schema
	return golden.SchemaText(t, s)
}

// generateFolderSchema generates the JSON schema of result.json in a folder of psbench comm.
func generateFolderSchema(t *testing.T) []byte {
	t.Helper()
	r := golden.Commented(t, "./core/measure/micro", "./core/record/folder/npy", "./core/record/result")
	var s, own struct {
		ID    string                    `json:"$schema"`
		Defs  map[string]map[string]any `json:"$defs"`
		Ref   string                    `json:"$ref"`
		Title string                    `json:"title"`
	}
	if err := json.Unmarshal(generateSchema(t), &s); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r.Reflect(&sampledFile{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &own); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"File", "Range"} {
		s.Defs[name] = own.Defs[name]
	}
	properties := func(of map[string]map[string]any, typ string) map[string]any {
		return of[typ]["properties"].(map[string]any)
	}
	result, row := properties(s.Defs, "Result"), properties(s.Defs, "Row")
	result["schema"] = map[string]any{"type": "string", "const": FolderSchema}
	for name, property := range properties(own.Defs, "sampledFile") {
		if name == "samples" || name == "crc32" {
			result[name] = property
		}
	}
	s.Defs["Result"]["required"] = append(s.Defs["Result"]["required"].([]any), "samples")
	delete(row, "latencies_us_by_repeat")
	for name, property := range properties(own.Defs, "sampledRow") {
		if row[name] == nil && name != "latencies_us_by_repeat" {
			row[name] = property
		}
	}
	s.Defs["Row"]["required"] = slices.DeleteFunc(own.Defs["sampledRow"]["required"].([]any),
		func(name any) bool { return name == "latencies_us_by_repeat" })
	s.Title = "result.json of a run folder of psbench comm"
	return golden.SchemaText(t, s)
}

func TestSchemaIsUpToDate(t *testing.T) {
	t.Chdir("../../..")
	golden.Require(t, folderSchemaFile, string(generateFolderSchema(t)))
	golden.Require(t, schemaFile, string(generateSchema(t)))
}

func TestDocumentNamesEveryField(t *testing.T) {
	t.Chdir("../../..")
	inResult := []string{ // documented in docs/result.md
		"Environment", "BLAS", "GPU", "Device", "List", "MPS", "Interval", "Machine", "Usage", "Plugin", "Cache",
		"Clock", "Copy",
		"Limits", "Layout", "Host", "Node", "Placed", "HostLink",
	}
	golden.RequireNamed(t, docFile, inResult, generateSchema(t))
}

func TestResultsSatisfyTheSchema(t *testing.T) {
	validate := golden.Validator(t, "../../../"+schemaFile)
	r := example(t)
	r.Limits = []Limit{{memcpy, 2 << 20, 2, 0, 12.5}}
	r.Placement = &placement.Layout{
		Policy: placement.Spread, Affinity: placement.OnCores,
		Hosts:     []placement.Host{{Name: "node1", Nodes: []machine.Node{{Cores: []machine.CPUs{{0, 2}, {1, 3}}}}}},
		Processes: []placement.Placed{{Name: "trainer0", CPUs: machine.CPUs{0, 2}}},
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(string(data)); err != nil {
		t.Error(err)
	}
	golden.RequireRefused(t, validate, string(data), map[string]string{
		Schema:            "psbench.comm/0",
		`"complete":true`: `"complete":1`,
		`"verified":`:     `"checked":`,
		`"rounds"`:        `"all rounds"`,
		`"rounds":6`:      `"rounds":1.5`,
		`"gb_per_s":12.5`: `"gb_per_s":"12.5"`,
	})
}
