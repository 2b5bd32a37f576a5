package result

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/record/folder/npy"
	"github.com/psbench/psbench/internal/golden"
)

const (
	schemaFile = "schemas/result.schema.json"
	docFile    = "docs/result.md"

	folderSchemaFile = "schemas/folder.schema.json"
)

// generateSchema generates the JSON schema of the types. The comments of the types become descriptions. The working
// directory must be the top of the repository.
func generateSchema(t *testing.T) []byte {
	t.Helper()
	r := golden.Commented(t, "./core/record/result", "./core/host/noise", "./core/host/machine", "./comm",
		"./internal/comm/limits",
		"./internal/metric")
	s := r.Reflect(&Result{})
	s.Definitions["Series"] = r.Reflect(&columns{}).Definitions["columns"]
	s.Definitions["Gauge"] = r.Reflect(&gaugeColumns{}).Definitions["gaugeColumns"]
	s.Title = "A result of psbench"
	property := func(typ, name string) *jsonschema.Schema {
		p, ok := s.Definitions[typ].Properties.Get(name)
		if !ok {
			t.Fatalf("%s has no property %q", typ, name)
		}
		return p
	}
	property("Result", "schema").Const = Schema
	// The type number becomes one of these in JSON.
	finite := func() *jsonschema.Schema {
		return &jsonschema.Schema{
			OneOf:       []*jsonschema.Schema{{Type: "number"}, {Type: "null"}},
			Description: "null if it is not finite",
		}
	}
	property("Result", "losses").Items.Items = finite()
	property("Gauge", "value").Items = finite()
	for _, name := range []string{"delta_head", "head"} {
		property("ParameterSummary", name).Items = finite()
	}
	for _, name := range []string{"delta_sum", "delta_sumsq"} {
		s.Definitions["ParameterSummary"].Properties.Set(name, finite())
	}
	for _, name := range []string{"train_loss", "loss"} {
		s.Definitions["Evaluation"].Properties.Set(name, finite())
	}
	s.Definitions["TrainerEvaluation"].Properties.Set("loss", finite())
	return golden.SchemaText(t, s)
}

// generateFolderSchema generates the JSON schema of result.json in a run folder.
func generateFolderSchema(t *testing.T) []byte {
	t.Helper()
	var s struct {
		ID    string                    `json:"$schema"`
		Defs  map[string]map[string]any `json:"$defs"`
		Ref   string                    `json:"$ref"`
		Title string                    `json:"title"`
	}
	if err := json.Unmarshal(generateSchema(t), &s); err != nil {
		t.Fatal(err)
	}
	r := golden.Commented(t, "./core/record/folder/npy")
	own := map[string]any{}
	for name, value := range map[string]any{"Series": sampledSeries{}, "Gauge": sampledGauge{}, "Range": Range{},
		"File": npy.File{}} {
		for _, def := range r.Reflect(value).Definitions {
			own[name] = def
		}
	}
	text, err := json.Marshal(own)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &s.Defs); err != nil {
		t.Fatal(err)
	}
	result := s.Defs["Result"]
	properties := result["properties"].(map[string]any)
	properties["schema"] = map[string]any{"type": "string", "const": FolderSchema}
	properties["losses"] = map[string]any{"type": "array", "items": map[string]any{"$ref": "#/$defs/Range"}}
	properties["samples"] = map[string]any{"type": "array", "items": map[string]any{"$ref": "#/$defs/File"}}
	properties["crc32"] = map[string]any{"type": "string",
		"description": "the checksum of result.json, taken while these digits are zeros"}
	result["required"] = append(result["required"].([]any), "samples")
	s.Title = "result.json of a run folder of psbench"
	return golden.SchemaText(t, s)
}

func TestSchemaIsUpToDate(t *testing.T) {
	t.Chdir("../../..")
	golden.Require(t, folderSchemaFile, string(generateFolderSchema(t)))
	golden.Require(t, schemaFile, string(generateSchema(t)))
}

func TestDocumentNamesEveryField(t *testing.T) {
	t.Chdir("../../..")
	golden.RequireNamed(t, docFile, nil, generateSchema(t), generateFolderSchema(t))
}

func TestResultsSatisfyTheSchema(t *testing.T) {
	validate := golden.Validator(t, "../../../"+schemaFile)
	spread := example()
	node, device := 0, 1
	spread.Placement = &placement.Layout{
		Policy: placement.Spread, Affinity: placement.OnCores,
		Hosts: []placement.Host{{Name: "node1", Nodes: []machine.Node{{Cores: []machine.CPUs{{0, 2}, {1, 3}}}},
			MemoryMiB: 64, GPUs: 2}},
		Processes: []placement.Placed{{Name: "trainer0", Device: &device, Node: &node, CPUs: machine.CPUs{0, 2}}},
		Notes:     []string{"a note"},
	}
	diverged := example()
	diverged.Losses[0][0] = math.Inf(1)
	diverged.Parameters[0][0].DeltaSum = math.NaN()
	diverged.Evaluation[0].TrainLoss, diverged.Evaluation[0].Trainers[0].Loss = math.NaN(), math.Inf(1)
	for name, r := range map[string]*Result{
		"example": example(), "empty": {Schema: Schema}, "diverged": diverged, "spread": spread,
		"bare process": {Schema: Schema, Processes: []Process{{}}},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := validate(string(data)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}

	data, err := json.Marshal(example())
	if err != nil {
		t.Fatal(err)
	}
	golden.RequireRefused(t, validate, string(data), map[string]string{
		Schema:                 "psbench.result/0",
		`"complete":true`:      `"complete":1`,
		`"transport":`:         `"carrier":`,
		`"duration_ns":[12345`: `"duration_ns":[1.5`,
		`"key_a":[0`:           `"keys":[0`,
	})
}
