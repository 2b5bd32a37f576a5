// Package option defines the options of a run with type, bounds, default and help text, and parses their values. The
// package also defines the names of psbench's environment variables that are not options.
package option

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/sdk"
)

// Options is the configuration of a run. Each field is one value with one name: key batch_size in a JSON file is flag
// --batch-size and environment variable PSBENCH_BATCH_SIZE. Set stays empty, because the parts of an Experiment hold
// the combined settings of all layers.
type Options struct {
	NTrainer        int      `json:"ntrainer" group:"experiment" default:"2" max:"10000" doc:"trainers on the CPU"`
	NServer         int      `json:"nserver" group:"experiment" default:"1" max:"10000" doc:"servers on the CPU; 0 for none"`
	Epochs          int      `json:"epochs" group:"experiment" default:"5" min:"1" max:"1000000000" doc:"length of a pass in epochs; the default is raised where it gives a trainer fewer than 20 iterations"`
	Iterations      int      `json:"iterations" group:"experiment" min:"1" max:"1000000000" doc:"length of a pass in iterations of each trainer, instead of --epochs"`
	Seconds         float64  `json:"seconds" group:"experiment" max:"31536000" doc:"length of a pass in seconds, instead of --epochs; connected trainers run equally many iterations"`
	Warmup          string   `json:"warmup" group:"experiment" default:"full" enum:"full,none" or:"integer" min:"1" max:"1000000000" doc:"length of the warm-up pass: full (as long as the measured pass), none, or N iterations"`
	BatchSize       int      `json:"batch_size" group:"experiment" default:"10" min:"1" max:"1000000000" doc:"samples in a batch"`
	TorchSeed       uint64   `json:"torch_seed" group:"experiment" default:"0" max:"18446744073709551615" doc:"seed of weights and data"`
	RPCTimeout      int      `json:"rpc_timeout" group:"experiment" default:"60" max:"31536000" zero:"max" doc:"longest wait for another process, in seconds; 0 means the maximum, one year"`
	PluginMemory    string   `json:"plugin_memory" group:"experiment" unit:"bytes" min:"268435456" doc:"memory limit of each process of a plugin that is not psbench's own, e.g. 2GiB"`
	Backend         string   `json:"backend" group:"experiment" default:"gloo" enum:"gloo,nccl,multi" doc:"process group of the trainers: gloo (psbench's own CPU collectives), nccl or multi (both need CUDA trainers)"`
	Transport       string   `json:"transport" group:"experiment" default:"auto" enum:"auto" doc:"transport of the gradients; the default picks the fastest for the hosts of the run"`
	Listen          string   `json:"listen" group:"experiment" default:"127.0.0.1" doc:"IP address of this host on which tcp and grpc listen; links use TLS unless it is a loopback address"`
	Interface       string   `json:"interface" group:"experiment" doc:"network interface, as in eth0, or network, as in 10.0.0.0/8, that gives each host its listening address, instead of --listen"`
	InsecureNetwork bool     `json:"insecure_network" group:"experiment" default:"false" doc:"turn TLS off to measure its cost: links between hosts are then neither encrypted nor authenticated"`
	Place           string   `json:"place" group:"experiment" default:"spread" enum:"spread,packed,apart" doc:"hosts of servers: spread (on all hosts, beside trainers), packed (on the last hosts) or apart (on hosts of their own)"`
	Affinity        string   `json:"affinity" group:"experiment" default:"none" enum:"none,numa,core" doc:"CPUs of a process: none (any CPU), numa (the CPUs of one NUMA node) or core (own cores for trainers and servers)"`
	Aggregate       string   `json:"aggregate" group:"experiment" default:"none" enum:"none,host" doc:"what trainers push to a server on another host: none (each its own gradients) or host (one sum for each host)"`
	OnNaN           string   `json:"on_nan" group:"experiment" default:"warn" enum:"warn,fail" doc:"reaction to a NaN or infinite loss, gradient or parameter: warn or fail"`
	Check           bool     `json:"check" group:"experiment" default:"false" doc:"keep slices of the data that the links carry, and recompute them after the pass"`
	Isolate         []string `json:"isolate" group:"experiment" enum:"hook,criterion,model,all" doc:"parts that run in a process of their own beside each trainer"`

	NumberTrainers   int `json:"number_trainers" group:"hybrid" stands:"ntrainer" max:"10000" doc:"trainers, as --ntrainer"`
	NumberPS         int `json:"number_ps" group:"hybrid" stands:"nserver" max:"10000" doc:"servers, as --nserver"`
	NumberEmbeddings int `json:"number_embeddings" group:"hybrid" stands:"server.num_embeddings" min:"1" max:"2147483647" doc:"rows of each server's table, as --set server.num_embeddings"`
	EmbeddingDim     int `json:"embedding_dim" group:"hybrid" stands:"server.embedding_dim" min:"1" max:"2147483647" doc:"columns of each server's table, as --set server.embedding_dim"`
	WarmupCycles     int `json:"warmup_cycles" group:"hybrid" max:"1000000000" doc:"epochs of the warm-up pass; by default as many as the measured pass has"`

	Trainer         string                    `json:"trainer" group:"parts" default:"ddp" kind:"trainer" doc:"trainer"`
	Server          string                    `json:"server" group:"parts" default:"average" kind:"server" doc:"server"`
	DDPHook         string                    `json:"ddp_hook" group:"parts" kind:"hook" doc:"hook that reduces the gradients; by default rpc with servers, else allreduce"`
	Model           string                    `json:"model" group:"parts" default:"DummyModel" kind:"model" doc:"id of a model configuration, or key of a model"`
	Data            string                    `json:"data" group:"parts" default:"DummyData" kind:"data" doc:"id of a data configuration, or key of a data part"`
	CreateCriterion string                    `json:"create_criterion" group:"parts" default:"cel" kind:"criterion" doc:"criterion"`
	CreateDDPModel  string                    `json:"create_ddp_model" group:"parts" default:"basic" kind:"ddp_model" doc:"how the trainer wraps its model"`
	HookState       string                    `json:"hook_state" group:"parts" default:"basic" kind:"hook_state" doc:"state of the iteration that the hook receives"`
	IterationStep   string                    `json:"iteration_step" group:"parts" default:"basic" kind:"iteration_step" doc:"steps of one training iteration"`
	PreprocessData  string                    `json:"preprocess_data" group:"parts" default:"dummy" kind:"preprocess_data" doc:"preprocessing of the trainer's batches before training"`
	Set             map[string]map[string]any `json:"set" group:"parts" doc:"setting of a part, as kind.setting=value; psbench list KIND shows the settings"`

	Config            string   `json:"config" group:"files" doc:"JSON file with values of these options"`
	Registry          []string `json:"registry" group:"files" doc:"registry file with more plugins"`
	NoUserRegistry    bool     `json:"no_user_registry" group:"files" doc:"ignore the plugins that psbench plugin add has registered"`
	ModelConfigPath   string   `json:"model_config_path" group:"files" doc:"file of model configurations"`
	DataConfigPath    string   `json:"data_config_path" group:"files" doc:"file of data configurations"`
	ServerConfigPath  string   `json:"server_config_path" group:"files" doc:"file of settings by server key"`
	TrainerConfigPath string   `json:"trainer_config_path" group:"files" doc:"file of settings by trainer key"`

	JSON         string `json:"json" group:"output" doc:"file for the result: all measurements, the configuration and the environment; - writes it to standard output"`
	Out          string `json:"out" group:"output" doc:"new or empty folder for everything that the run leaves: result, samples as columns, output of each process"`
	Report       string `json:"report" group:"output" default:"table" enum:"table,full,summary" doc:"final report: table (one table of all ranks, then the answer), full (also the tables of every rank) or summary (the answer alone)"`
	Stats        string `json:"stats" group:"output" default:"psbench" enum:"psbench,original" doc:"columns of the tables of --report full; original prints the tables of PyTorch's benchmark"`
	Quiet        bool   `json:"quiet" group:"output" default:"false" doc:"show no progress"`
	Live         bool   `json:"live" group:"output" default:"false" doc:"show the run live, on a web page at 127.0.0.1 and on the terminal"`
	PluginOutput string `json:"plugin_output" group:"output" default:"show" enum:"show,quiet" doc:"output of plugins: show or quiet (hide it)"`
	LogDir       string `json:"log_dir" group:"output" doc:"folder for one log file for each process, with all its output"`

	NCUDATrainer int    `json:"ncudatrainer" group:"compatibility" default:"0" max:"10000" doc:"trainers on CUDA devices; psbench list devices shows the devices"`
	NCUDAServer  int    `json:"ncudaserver" group:"compatibility" default:"0" max:"10000" doc:"servers on CUDA devices, for the trainers there"`
	CUDASeed     uint64 `json:"cuda_seed" group:"compatibility" default:"0" max:"18446744073709551615" effect:"there are no CUDA ranks" doc:"seed of trainers and servers on CUDA devices; by default --torch-seed"`
	MasterAddr   string `json:"master_addr" group:"compatibility" effect:"psbench tells each process where its peers are" doc:"address of the master; no effect"`
	MasterPort   string `json:"master_port" group:"compatibility" effect:"psbench tells each process where its peers are" doc:"port of the master; no effect"`
	Filestore    string `json:"filestore" group:"compatibility" effect:"the processes meet in the run's own folder" doc:"rendezvous file of the processes; no effect"`
}

// Option describes one field of Options.
type Option struct {
	Key     string
	Type    Type
	Default string // in the form that a user would write
	Group   string // group in the help text: one of Groups
	Doc     string
	// Kind is the kind of the part that the option chooses, or "".
	Kind sdk.Kind
	// Min and Max bound integers. Only Max bounds numbers, and only Min bounds sizes.
	Min, Max uint64
	// ZeroIsMax means that 0 stands for Max, because 0 means "no limit" in other programs.
	ZeroIsMax bool
	// Enum lists the allowed values. If Enum is empty, all values are allowed.
	Enum []string
	// OrInteger allows integers in addition to Enum.
	OrInteger bool
	// Stands is set if this option is only another name. Stands names the real option or the setting of a part.
	Stands string
	// NoEffect says why the option has no effect, always or in most runs.
	NoEffect string
}

// Type is the type of an option's value.
type Type string

// These are the types of options.
const (
	String   Type = "string"
	Integer  Type = "integer"
	Number   Type = "number" // positive number
	Size     Type = "size"   // number of bytes, with a unit
	Bool     Type = "bool"
	List     Type = "list"     // list of strings
	Settings Type = "settings" // values by kind and name of the setting
)

// EnvPrefix is the prefix of all variables that psbench reads.
const EnvPrefix = "PSBENCH_"

// HybridGroup is the group of options whose names come from PyTorch's hybrid benchmark.
const HybridGroup = "hybrid"

// Group is a heading in the help text.
type Group struct{ Name, Title string }

// Groups lists the groups of options in the order of the help text.
var Groups = []Group{
	{"experiment", "Experiment"},
	{"parts", "Parts"},
	{HybridGroup, "Hybrid benchmark (--trainer hybrid)"},
	{"files", "Files"},
	{"output", "Output"},
	{"compatibility", "CUDA and compatibility"},
}

// Flag returns the option's name on the command line, without the leading dashes.
func (o Option) Flag() string { return strings.ReplaceAll(o.Key, "_", "-") }

// Env returns the name of the option's environment variable.
func (o Option) Env() string { return EnvPrefix + strings.ToUpper(o.Key) }

// All returns all options in the order of the fields of Options.
var All = sync.OnceValue(func() []Option { return describeOptions(reflect.TypeFor[Options]()) })

func describeOptions(t reflect.Type) []Option {
	var out []Option
	for i := range t.NumField() {
		f := t.Field(i)
		o := Option{
			Key: f.Tag.Get("json"), Type: typeOf(f),
			Default: f.Tag.Get("default"), Group: f.Tag.Get("group"), Doc: f.Tag.Get("doc"),
			Kind: sdk.Kind(f.Tag.Get("kind")), NoEffect: f.Tag.Get("effect"), Stands: f.Tag.Get("stands"),
			ZeroIsMax: f.Tag.Get("zero") == "max",
			OrInteger: f.Tag.Get("or") == string(Integer),
			Min:       bound(f.Tag.Get("min"), 0), Max: bound(f.Tag.Get("max"), math.MaxUint64),
		}
		if enum := f.Tag.Get("enum"); enum != "" {
			o.Enum = strings.Split(enum, ",")
		}
		if o.Key == "transport" {
			o.Enum = append(o.Enum, fabric.Names()...)
		}
		out = append(out, o)
	}
	return out
}

func typeOf(f reflect.StructField) Type {
	switch f.Type.Kind() {
	case reflect.String:
		if f.Tag.Get("unit") == "bytes" {
			return Size
		}
		return String
	case reflect.Bool:
		return Bool
	case reflect.Slice:
		return List
	case reflect.Map:
		return Settings
	case reflect.Float64:
		return Number
	default:
		return Integer
	}
}

func bound(text string, otherwise uint64) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

// Of returns the option with a key.
func Of(key string) (Option, bool) {
	for _, o := range All() {
		if o.Key == key {
			return o, true
		}
	}
	return Option{}, false
}

// Keys returns the keys of all options.
func Keys() []string {
	keys := make([]string, len(All()))
	for i, o := range All() {
		keys[i] = o.Key
	}
	return keys
}

// For returns the option that chooses the part of a kind.
func For(kind sdk.Kind) Option {
	for _, o := range All() {
		if o.Kind == kind {
			return o
		}
	}
	return Option{}
}

// Zero returns the value of a string, integer or number that was not set.
func (o Option) Zero() any {
	switch o.Type {
	case Integer:
		return uint64(0)
	case Number:
		return 0.0
	default:
		return ""
	}
}
