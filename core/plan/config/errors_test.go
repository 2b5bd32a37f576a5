package config

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/host"
)

func TestFlagErrors(t *testing.T) {
	for _, test := range []struct{ flags, want string }{
		{"--epochs 0", "--epochs is 0 but must be a whole number from 1 to 1000000000"},
		{"--epochs many", `--epochs is "many" but must be a whole number from 1 to 1000000000`},
		{"--batch_size 0", "--batch-size is 0 but must be a whole number from 1 to 1000000000"},
		{"--batch-size -1", "--batch-size is -1 but must be a whole number from 1 to 1000000000"},
		{"--rpc-timeout -1", "--rpc-timeout is -1 but must be a whole number from 0 to 31536000"},
		{"--rpc-timeout 1.5", "--rpc-timeout is 1.5 but must be a whole number from 0 to 31536000"},
		{"--ntrainer -1", "--ntrainer is -1 but must be a whole number from 0 to 10000"},
		{"--ntrainer 0", "--ntrainer is 0 and --ncudatrainer is 0: there must be a trainer"},
		{"--nserver 2 --ntrainer 3",
			"--nserver is 2 but --ntrainer is 3: the count of trainers must be a multiple of the count of servers"},
		{"--torch-seed -9223372036854775809",
			"--torch-seed is -9223372036854775809 but must be a whole number that fits in 64 bits"},
		{"--torch-seed 18446744073709551616",
			"--torch-seed is 18446744073709551616 but must be a whole number that fits in 64 bits"},
		{"--torch-seed -0.5", "--torch-seed is -0.5 but must be a whole number that fits in 64 bits"},
		{"--backend mpi", `--backend is "mpi" but must be gloo, nccl or multi`},
		{"--backend nccl",
			"--backend is nccl but --ncudatrainer (default) is 0: NCCL connects CUDA trainers: give --ncudatrainer 1 or more, or --backend gloo"},
		{"--transport udp",
			`--transport is "udp" but must be ` + option.OneOf(append([]string{"auto"}, fabric.Names()...))},
		{"--listen 0.0.0.0", "--listen: 0.0.0.0 stands for all addresses of a host: it must be one of them"},
		{"--listen fe80::1%eth0",
			"--listen: fe80::1%eth0 has a zone, which other hosts name differently: it must be an address without one"},
		{"--listen localhost", `--listen is "localhost" but must be an IP address, as in 127.0.0.1`},
		{"--listen 127.0.0.1:80", `--listen is "127.0.0.1:80" but must be an IP address, as in 127.0.0.1`},
		{"--report tabel", `--report is "tabel" but must be table, full or summary`},
		{"--stats original --report table",
			"--report is table but --stats is original, which is printed in full: leave --report out"},
		{"--stats all", `--stats is "all" but must be psbench or original`},
		{"--isolate hook,data", `--isolate is "data" but must be hook, criterion, model or all`},
		{"--quiet=maybe", `--quiet is "maybe" but must be true or false`},
		{"--ddp-hook rpc --nserver 0",
			"--ddp-hook is rpc, which needs a server, but --nserver is 0: give --nserver 1 or more, or --ddp-hook allreduce"},
		{"--trainer hybrid --nserver 0",
			"--nserver is 0 but trainer hybrid needs tables of a server: give --nserver 1 or more"},
		{"--trainer batch_update --nserver 0",
			"--nserver is 0 but trainer batch_update needs parameters of a server: give --nserver 1 or more"},
		{"--trainer batch_update --nserver 2",
			"--nserver is 2 but --ntrainer is 3: the count of trainers must be a multiple of the count of servers"},
		{"--trainer hybrid --server average",
			"--server is average, which serves gradients, but trainer hybrid needs tables, as embedding serves"},
		{"--server embedding",
			"--server is embedding, which serves tables, but trainer ddp needs gradients, as average or average_batch serves"},
		{"--trainer batch_update --server embedding",
			"--server is embedding, which serves tables, but trainer batch_update needs parameters, as batch_update serves"},
		{"--trainer hybrid --ddp-hook rpc",
			"--ddp-hook is rpc, which sends gradients to the server, but server embedding serves tables and takes none: give --ddp-hook allreduce"},
		{"--trainer hybrid --ddp-hook sparse_rpc",
			"--ddp-hook is sparse_rpc, which sends gradients to the server, but server embedding serves tables and takes none: give --ddp-hook allreduce"},
		{"--trainer batch_update --ddp-hook allreduce",
			"--ddp-hook is allreduce, but trainer batch_update needs a hook that sends every bucket to the server, for its parameters: give --ddp-hook rpc"},
		{"--trainer batch_update --ddp-hook sparse_rpc",
			"--ddp-hook is sparse_rpc, but trainer batch_update needs a hook that sends every bucket to the server, for its parameters: give --ddp-hook rpc"},
		{"--trainer hybird",
			`--trainer: unknown trainer "hybird"; did you mean "hybrid"? the keys are batch_update, ddp, hybrid`},
		{"--trainer batch_update --ddp-hook noop",
			"--ddp-hook is noop, but trainer batch_update needs a hook that sends every bucket to the server, for its parameters: give --ddp-hook rpc"},
		{"--ddp-hook allreduc",
			`--ddp-hook: unknown hook "allreduc"; did you mean "allreduce"? the keys are allreduce, hybrid, noop, rpc, sparse_rpc`},
		{"--model DummyModelSprase", `--model: unknown model "DummyModelSprase"; did you mean "DummyModelSparse"?`},
		{"--data zzzzzzzzz",
			`--data: unknown data "zzzzzzzzz"; the nearest of 14 are DummyData, bags, clicks, criteo, dense; psbench list data shows all`},
		{"--set lr", `--set is "lr" but must be kind.setting=value, as in trainer.lr=0.1`},
		{"--set .lr=1",
			`--set names the unknown kind ""; the kinds with settings are server, trainer, hook, criterion, data, model`},
		{"--set sparsee=true", `--set sparsee: no part of this run has a setting "sparsee"; did you mean "sparse"?`},
		{"--set zzzzz=1",
			`--set zzzzz: no part of this run has a setting "zzzzz"; psbench list KIND shows the settings`},
		{"--trainer hybrid --set lr=1",
			"--set lr: server embedding and trainer hybrid have a setting lr: write server.lr or trainer.lr"},
		{"--trainer hybrid --set num_embeddings=1",
			"--set num_embeddings: server embedding and data bags have a setting num_embeddings: write server.num_embeddings or data.num_embeddings"},
		{"--trainer hybrid --set embedding_dim=x", "--set embedding_dim is \"x\" but must be a whole number"},
		{"--set trainr.lr=1", `--set names the unknown kind "trainr"; did you mean "trainer"?`},
		{"--set zzz.lr=1",
			`--set names the unknown kind "zzz"; the kinds with settings are server, trainer, hook, criterion, data, model`},
		{"--set trainer.bucket_byte=1",
			`--set trainer.bucket_byte: trainer ddp has no setting "bucket_byte"; did you mean "bucket_bytes"?`},
		{"--set hook.x=1", `--set hook.x: hook rpc has no setting "x"; there are none`},
		{"--set trainer.lr=fast", `--set trainer.lr is "fast" but must be a number`},
		{"--set trainer.lr=1e999",
			`--set trainer.lr is 1e999 but must be a number that a float32 can hold: 0, or from 1.4e-45 to 3.4e38 in size`},
		{"--set lr=1e39",
			`--set lr is 1e39 but must be a number that a float32 can hold: 0, or from 1.4e-45 to 3.4e38 in size`},
		{"--set trainer.lr=1e-46",
			`--set trainer.lr is 1e-46 but must be a number that a float32 can hold: 0, or from 1.4e-45 to 3.4e38 in size`},
		{"--set trainer.lr=-1e39",
			`--set trainer.lr is -1e39 but must be a number that a float32 can hold: 0, or from 1.4e-45 to 3.4e38 in size`},
		{"--set trainer.lr=NaN", `--set trainer.lr is "NaN" but must be a number`},
		{"--set trainer.lr=Inf", `--set trainer.lr is "Inf" but must be a number`},
		{"--model dlrm --set table_rows=[null]", `--set table_rows holds null at [0] but must hold a value there`},
		{"--data inline --set inputs=[[1,2],[3,null]]",
			`--set inputs holds null at [1][1] but must hold a value there`},
		{"--data inline --set inputs=[[1],[1e39]]",
			`--set inputs holds 1e39 at [1][0] but must hold a number that a float32 can hold: 0, or from 1.4e-45 to 3.4e38 in size`},
		{"--set trainer.lr=null", `--set trainer.lr is null but must be a number`},
		{"--set trainer.bucket_bytes=1.5", `--set trainer.bucket_bytes is 1.5 but must be a whole number`},
		{"--set model.sparse=1", `--set model.sparse is 1 but must be true or false`},
		{"--model mlp --set model.sizes=64,128", `--set model.sizes is "64,128" but must be a list: write [64,128]`},
		{"--model mlp --set sizes=64", `--set sizes is 64 but must be a list: write [64]`},
		{"--model mlp --set model.sizes=64,x", `--set model.sizes is "64,x" but must be a list: write [64,"x"]`},
		{"--model mlp --set model.sizes=64;128", `--set model.sizes is "64;128" but must be a list: write [64,128]`},
		{"--model mlp --set model.sizes=64;128,256;",
			`--set model.sizes is "64;128,256;" but must be a list: write [64,128,256]`},
		{"--model mlp --set model.sizes=64;x", `--set model.sizes is "64;x" but must be a list`},
		{"--model mlp --set model.sizes=;", `--set model.sizes is ";" but must be a list`},
		{"--model mlp --set model.sizes=[64,128", `--set model.sizes is "[64,128" but must be a list`},
		{"--model mlp --set model.sizes=null", `--set model.sizes is null but must be a list`},
		{"--data inline --set data.inputs={}", `--set data.inputs is {} but must be a list`},
		{"--config none.json", "--config: file none.json cannot be read: no such file or directory"},
		{"--registry none.json", "--registry: file none.json cannot be read: no such file or directory"},
		{"--model-config-path none.json",
			"--model-config-path: file none.json cannot be read: no such file or directory"},
		{"--server-config-path none.json",
			"--server-config-path: file none.json cannot be read: no such file or directory"},
	} {
		t.Run(test.flags, func(t *testing.T) {
			_, err := resolve(t, nil, strings.Fields(test.flags))
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestEnvironmentErrors(t *testing.T) {
	for _, test := range []struct{ variable, want string }{
		{"PSBENCH_NTRIANER=2", "unknown environment variable PSBENCH_NTRIANER; did you mean PSBENCH_NTRAINER?"},
		{"PSBENCH_PORT=80", "unknown environment variable PSBENCH_PORT; did you mean PSBENCH_OUT?"},
		{"PSBENCH_QQQQQ=2", "unknown environment variable PSBENCH_QQQQQ: psbench does not read it"},
		{"PSBENCH_epochs=1", "unknown environment variable PSBENCH_epochs; did you mean PSBENCH_EPOCHS?"},
		{"PSBENCH_Epochz=1", "unknown environment variable PSBENCH_Epochz; did you mean PSBENCH_EPOCHS?"},
		{"PSBENCH_=1", "unknown environment variable PSBENCH_: psbench does not read it"},
		{"PSBENCH_CUDA_GEMM=foo", `PSBENCH_CUDA_GEMM is "foo" but must be cublas or kernels`},
		{"PSBENCH_PLUGIN=x",
			`PSBENCH_PLUGIN is "x", but psbench sets this variable itself, for the processes that it starts: unset it`},
		{"GOMAXPROCS=100000", tooMany("GOMAXPROCS is 100000")},
		{"OPENBLAS_NUM_THREADS=100000", tooMany("OPENBLAS_NUM_THREADS is 100000")},
		{"GOTO_NUM_THREADS=100000", tooMany("GOTO_NUM_THREADS is 100000")},
		{"OMP_NUM_THREADS=100000,2", tooMany("OMP_NUM_THREADS is 100000,2")},
		{"MKL_NUM_THREADS=99999999999999999999999", tooMany("MKL_NUM_THREADS is 99999999999999999999999")},
		{"BLIS_NUM_THREADS= 100000", tooMany("BLIS_NUM_THREADS is  100000")},
		{"PSBENCH_EPOCHS=0", "PSBENCH_EPOCHS is 0 but must be a whole number from 1 to 1000000000"},
		{"PSBENCH_REPORT=1", "PSBENCH_REPORT is \"1\" but must be table, full or summary"},
		{"PSBENCH_QUIET=2", "PSBENCH_QUIET is 2 but must be true or false"},
		{"PSBENCH_CONFIG=none.json", "PSBENCH_CONFIG: file none.json cannot be read: no such file or directory"},
		{"PSBENCH_SET=model.sparse",
			`PSBENCH_SET is "model.sparse" but must be kind.setting=value, as in trainer.lr=0.1`},
		{"PSBENCH_SET=model.sizes=64 x,128",
			`PSBENCH_SET is "128" but must be kind.setting=value, as in trainer.lr=0.1`},
		{"PSBENCH_SET=model.sizes=64,128",
			`PSBENCH_SET is "128" but must be kind.setting=value, as in trainer.lr=0.1; a list has brackets: model.sizes=[64,128]`},
		{"PSBENCH_SET=trainer.lr=1,model.sparse",
			`PSBENCH_SET is "model.sparse" but must be kind.setting=value, as in trainer.lr=0.1`},
		{"PSBENCH_SET=model.sparse=1", "PSBENCH_SET model.sparse is 1 but must be true or false"},
		{`PSBENCH_SET=data.inputs=[1`, `PSBENCH_SET has the value [1, which is not JSON: unexpected EOF`},
		{`PSBENCH_SET=data.inputs=[1] x`, `PSBENCH_SET has "x" after data.inputs=[1] but must have a comma there`},
		{"PSBENCH_DDP_HOOK=allreduc",
			`PSBENCH_DDP_HOOK: unknown hook "allreduc"; did you mean "allreduce"? the keys are allreduce, hybrid, noop, rpc, sparse_rpc`},
	} {
		t.Run(test.variable, func(t *testing.T) {
			_, err := resolve(t, []string{test.variable}, nil)
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func tooMany(what string) string {
	return fmt.Sprintf("%s but must be at most %d on this machine of %d cores", what, mostThreads, runtime.NumCPU())
}

func TestEnvironmentIsAccepted(t *testing.T) {
	for _, variable := range []string{
		"PSBENCH_epochs=", "PSBENCH_=", "PSBENCH_SIMD=portable", "psbench_epochs=1", "GOMAXPROCS=2",
		"OMP_NUM_THREADS=4,2", "OPENBLAS_NUM_THREADS=two",
		"PSBENCH_PLUGIN=" + host.Handshake.MagicCookieValue, // set by a plugin that starts psbench
		"PSBENCH_CUDA_GEMM=kernels",
		"PSBENCH_PORT=tcp://10.104.43.7:80", "PSBENCH_MASTER_PORT=tcp://10.104.43.8:29500", // set for Services
	} {
		t.Run(variable, func(t *testing.T) {
			if _, err := resolve(t, []string{variable}, nil); err != nil {
				t.Errorf("%s: %v", variable, err)
			}
		})
	}
}

func TestFileErrors(t *testing.T) {
	for _, test := range []struct{ flags, content, want string }{
		{"--config", `{"ntrianer": 2}`, `unknown key "ntrianer" in f.json; did you mean "ntrainer"?`},
		{"--config", "{\n\"epochs\": 2,,}",
			`--config: f.json, line 2, column 13: invalid character ',' looking for beginning of object key string`},
		{"--config", `{"epochs": 1, "epochs": 2}`, `--config: f.json, line 1, column 15: key "epochs" is given twice`},
		{"--config", `{"batch_size": 1, "batch-size": 2}`,
			`batch_size in f.json is given twice, with a dash and with an underscore`},
		{"--config", `{"epochs": "5"}`, `epochs in f.json is "5" but must be a whole number from 1 to 1000000000`},
		{"--config", `{"epochs": 0}`, `epochs in f.json is 0 but must be a whole number from 1 to 1000000000`},
		{"--config", `{"epochs": null}`, `epochs in f.json is null but must be a whole number from 1 to 1000000000`},
		{"--config", `{"model": true}`, `model in f.json is true but must be a string`},
		{"--config", `{"quiet": "true"}`, `quiet in f.json is "true" but must be true or false`},
		{"--config", `{"isolate": [1]}`, `isolate in f.json holds 1 but must be a list of strings`},
		{"--config", `{"isolate": 1}`, `isolate in f.json is 1 but must be a list of strings`},
		{"--config", `{"config": "g.json"}`,
			`--config: f.json has the key config, but a configuration file cannot name another one`},
		{"--config", `{"set": 1}`, `set in f.json is 1 but must be an object of kinds, each an object of settings`},
		{"--config", `{"set": {"model": 1}}`, `set in f.json has 1 as model but must have an object of settings there`},
		{"--config", `{"set": {"modle": {}}}`, `set in f.json names the unknown kind "modle"; did you mean "model"?`},
		{"--config", `{"set": {"model": {"sparze": true}}}`,
			`set.model.sparze in f.json: model dummy has no setting "sparze"; did you mean "sparse"?`},
		{"--config", `{"set": {"model": {"sparse": "true"}}}`,
			`set.model.sparse in f.json is "true" but must be true or false`},
		{"--model-config-path", `{"A": {"model_clas": "dummy"}}`,
			`--model-config-path: A in f.json has the unknown key "model_clas"; did you mean "model_class"?`},
		{"--model-config-path", `{"A": {}}`, `--model-config-path: A in f.json has no model_class`},
		{"--model-config-path", `{"A": 1}`, `--model-config-path: A in f.json is 1 but must be an object`},
		{"--model-config-path", `{"A": {"model_class": 1}}`,
			`--model-config-path: A in f.json has 1 as model_class, which must be a string for model_class and an object for configurations`},
		{"--model A --model-config-path", `{"A": {"model_class": "dumy"}}`,
			`model_class in f.json, A: unknown model "dumy"; did you mean "dummy"? the keys are dlrm, dummy, mlp`},
		{"--model A --model-config-path", `{"A": {"model_class": "dummy", "configurations": {"sparze": 1}}}`,
			`sparze in f.json, A: model dummy has no setting "sparze"; did you mean "sparse"?`},
		{"--model A --model-config-path", `{"A": {"model_class": "dummy", "configurations": {"sparse": 1}}}`,
			`sparse in f.json, A is 1 but must be true or false`},
		{"--data-config-path", `{"A": {"model_class": "dummy"}}`,
			`--data-config-path: A in f.json has the unknown key "model_class"; did you mean "data_class"?`},
		{"--trainer-config-path", `{"dpp": {}}`,
			`--trainer-config-path: f.json: unknown trainer "dpp"; did you mean "ddp"? the keys are batch_update, ddp, hybrid`},
		{"--trainer-config-path", `{"ddp": 1}`,
			`--trainer-config-path: ddp in f.json is 1 but must be an object of settings`},
		{"--trainer-config-path", `{"ddp": {"lr": "x"}}`, `lr in f.json, ddp is "x" but must be a number`},
		{"--trainer-config-path", `{"ddp": {"lr": 1e39}}`,
			`lr in f.json, ddp is 1e39 but must be a number that a float32 can hold: 0, or from 1.4e-45 to 3.4e38 in size`},
		{"--trainer-config-path", `{"ddp": {}, "DdpTrainer": {}}`,
			`--trainer-config-path: f.json has settings for DdpTrainer and for ddp, which are the same trainer`},
		{"--registry", `{"trainer_map": {"t": {"plugin": "builtin", "defaults": {"epoch": 1}}}}`,
			`--registry: unknown key "epoch" in trainer_map.t.defaults of f.json; did you mean "epochs"?`},
		{"--registry", `{"trainer_map": {"t": {"plugin": "builtin", "defaults": {"epochs": "1"}}}}`,
			`--registry: epochs in trainer_map.t.defaults of f.json is "1" but must be a whole number from 1 to 1000000000`},
		{"--registry", `{"trainer_map": {"t": {"plugin": "builtin", "defaults": {"registry": ["a"]}}}}`,
			`--registry: registry in trainer_map.t.defaults of f.json is given, but a trainer cannot have a default for it`},
		{"--registry", `{"model_map": {"m": {"plugin": "builtin", "defaults": {"model": "m"}}}}`,
			`--registry: model in model_map.m.defaults of f.json is given, but a model cannot have a default for it`},
		{"--trainer t --registry",
			`{"trainer_map": {"t": {"plugin": "builtin", "defaults": {"model": "HybirdModel"}}}}`,
			`--model (default of trainer t): unknown model "HybirdModel"; did you mean "HybridModel"?`},
		{"--registry", `{"modle_map": {}}`,
			`--registry: f.json, line 1, column 2: unknown key "modle_map"; did you mean "model_map"?`},
	} {
		t.Run(test.flags+" "+test.content, func(t *testing.T) {
			inFolder(t, map[string]string{"f.json": test.content})
			_, err := resolve(t, nil, append(strings.Fields(test.flags), "f.json"))
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}
