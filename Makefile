# `make help` lists the targets. Everything except lint, generate and RACE=1 needs
# only Go, make and git.

GO             ?= go
GOLANGCI_LINT  ?= golangci-lint
PYTHON         ?= /usr/bin/python3
FUZZTIME       ?= 10s
SEEDS          ?= 30
ARGS           ?= --trainer ddp --server average

# Every result names the commit that psbench was built from.
commit := $(shell git describe --always --dirty 2>/dev/null)

stamp      := -X github.com/psbench/psbench/core/record/result.stampedCommit=$(commit)

# The header and library for compiling CUDA code, and the double of the driver for its tests. With
# GPU=1, the tests run on the machine's driver instead.
cuda       := bin/cuda
double     := bin/double
cuda_env   := CGO_ENABLED=1 CGO_CFLAGS="-O2 -g -I$(CURDIR)/$(cuda)" CGO_LDFLAGS="-L$(CURDIR)/$(cuda) -Wl,-z,lazy"
cuda_tests := ./cuda/... ./cmd/psbench-cuda/...
of_build   := ./cuda/header ./cuda/double ./cuda/mutants
on_driver  := $(if $(GPU),,LD_LIBRARY_PATH=$(CURDIR)/$(double))

# Time limit of make test-cuda, which runs on every commit. FULL=1 and a GPU have no limit.
limit_s := $(if $(GPU)$(FULL),,480)
began_s := $(shell date +%s)

# The contract with plugins at the beginning of its major version.
kept  := cmd/psbench/testdata/contract
major := $(shell sed -n 's/^var Contract = Version{\([0-9]*\), .*/\1/p' internal/host/version.go)

# Plugins are processes, so a hanging test never ends by itself. A busy machine takes several
# times as long as an idle one. Many tests wait for a deadline of their run, so more tests run
# at a time than there are cores.
TESTFLAGS      ?= -timeout 30m -parallel 4

ifdef RACE
# A race in a plugin process must end the process, and with it the run and the test.
test_env   := CGO_ENABLED=1 GORACE='halt_on_error=1 atexit_sleep_ms=0'
# Tests of allocations, memory, terminal output and the attribution of time need builds without the race detector.
race_flag  := -race -skip 'Allocat|MemoryOf|FitsTheTerminal|Attributes'
# Packages without concurrency, in code and tests, cannot have races, so they are left out.
# Only test-cuda builds CUDA code, and only test-slurm builds tests that need a cluster.
beside     := ^[[:space:]]*go |\.(Go|Parallel)\(|sync\.[MPRCW]|atomic\.
packages    = $(or $(addprefix ./,$(sort $(dir $(shell git grep --untracked -lE '$(beside)' -- '*.go' ':!*/testdata/*' ':!cuda' ':!cmd/psbench-cuda' ':(exclude,glob)bench/cluster/*.go')))),$(error git grep finds no package in which anything runs beside anything else))
else
test_env   := CGO_ENABLED=0
packages   := ./...
endif

# A short run tests fewer combinations; FULL=1 tests all.
test_flags := $(race_flag) $(if $(FULL),,-short)

.DEFAULT_GOAL := help
.PHONY: run build cuda ptx cuda-symbols cuda-bundle test test-cuda mutate-cuda test-python test-web test-browsers test-slurm faults lint lint-cuda lint-proof generate sentences statistics contract breaking bench fuzz clean help

run: build ## build psbench and run the main job; ARGS="..." gives other flags
	bin/psbench $(ARGS)

build: ## build bin/psbench, without a C compiler
	CGO_ENABLED=0 $(GO) build -ldflags '$(stamp)' -o bin/psbench ./cmd/psbench

$(cuda)/libcuda.so: cuda/header/*.go go.mod
	$(GO) run ./cuda/header -o $(cuda)

cuda: build $(cuda)/libcuda.so ## also build bin/psbench-cuda; needs gcc, but no part of CUDA
	$(cuda_env) $(GO) build -tags nvidia -ldflags '$(stamp)' -o bin/psbench-cuda ./cmd/psbench-cuda

test-cuda: cuda cuda-bundle ## run the tests of CUDA code on a double of the driver, and those in the unpacked bundle; needs gcc; GPU=1 uses the machine's GPU
	$(if $(GPU),,$(MAKE) --no-print-directory -C cuda/double OUT=$(CURDIR)/$(double))
	$(on_driver) $(cuda_env) $(GO) test -tags nvidia $(if $(FULL),,-short) $(TESTFLAGS) $(if $(limit_s),-timeout $(limit_s)s) $(of_build) $(if $(GPU),,./core/host/devices)
	unpacked=$$(mktemp -d) && trap 'rm -rf "$$unpacked"' EXIT && tar -xzf bin/cuda-bundle.tar.gz -C "$$unpacked" && cd "$$unpacked/psbench-cuda" && \
		$(on_driver) $(if $(FULL),,SHORT=1) VERBOSE=1 $(if $(GPU),,JOBS=2) FLAGS="$(patsubst -%,-test.%,$(TESTFLAGS)) $(if $(limit_s),-test.timeout $(limit_s)s)" ./run$(if $(GPU),, && \
		$(on_driver) PSBENCH_DOUBLE_DEVICES=4 bin/psbench verify --device cuda --backend nccl)
	$(if $(limit_s),@took_s=$$(($$(date +%s) - $(began_s))); [ $$took_s -le $(limit_s) ] || { echo "make test-cuda took $$took_s s but may take $(limit_s)" >&2; exit 1; })

mutate-cuda: cuda ## remove each wait and each driver call from CUDA code in turn, and require that a test fails; takes minutes
	$(MAKE) --no-print-directory -C cuda/double OUT=$(CURDIR)/$(double)
	PSBENCH_TEST_MUTANTS=all LD_LIBRARY_PATH=$(CURDIR)/$(double) $(cuda_env) $(GO) test -tags nvidia -v -timeout 2h ./cuda/mutants

ptx: ## compile the CUDA kernels to PTX again; needs clang-14
	cuda/kernels/make-ptx

cuda-symbols: ## list the driver functions that bin/psbench-cuda imports
	@$(GO) run ./cuda/header -symbols bin/psbench-cuda

cuda-bundle: $(cuda)/libcuda.so ## pack bin/cuda-bundle.tar.gz: psbench, its CUDA tests and a script to run them, for a GPU machine without Go
	$(cuda_env) GO="$(GO)" STAMP='$(stamp)' cuda/bundle/pack bin/cuda-bundle.tar.gz $(cuda_tests)

test: ## run all tests; FULL=1 in all combinations, RACE=1 with the race detector, which needs gcc
	$(test_env) $(GO) test $(test_flags) $(TESTFLAGS) $(packages)

test-python: ## run the tests of the Python package with PYTHON; needs grpcio, protobuf, numpy and torch
	cd python && PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m unittest discover -s tests -t .

test-web: ## run the tests of the page; needs node 18 or newer
	cd web && node --test $$(find src -name "*.test.js")

test-browsers: build ## test reports of recorded runs and a growing page in chromium and firefox-esr; needs npm
	cd web/e2e && npm ci --ignore-scripts --no-audit --no-fund --silent && PSBENCH=$(CURDIR)/bin/psbench node --test *.test.js

test-slurm: build ## run psbench on a cluster of namespaces on this machine, by Slurm and by ssh; needs root
	PSBENCH=$(CURDIR)/bin/psbench $(GO) test -tags slurm -count=1 $(TESTFLAGS) ./bench/cluster/

faults: build ## inject SEEDS (30) faults of each kind into runs on two nodes, at random times, and print the table; needs root
	PSBENCH=$(CURDIR)/bin/psbench $(GO) test -tags slurm -count=1 -timeout 4h -run '^Test(Faults|Survived)$$' -v ./bench/cluster/ -args -seeds $(SEEDS)

lint: ## run golangci-lint
	$(GOLANGCI_LINT) run ./...

lint-cuda: $(cuda)/libcuda.so ## run golangci-lint on CUDA code, which needs gcc
	$(cuda_env) $(GOLANGCI_LINT) run --build-tags nvidia $(cuda_tests)

lint-proof: ## show that lint reports every forbidden import
	GOLANGCI_LINT="$(GOLANGCI_LINT)" .ci/lint-proof

generate: ## generate the protobuf code, Python's protobuf descriptor, the JSON schemas, the page and the assembly again
	$(GO) tool -modfile=tools.mod buf generate
	$(GO) tool -modfile=tools.mod buf generate core/process/agent/proto --template core/process/agent/proto/buf.gen.yaml
	$(GO) tool -modfile=tools.mod buf build --exclude-source-info -o python/psbench/psbench.binpb
	$(GO) generate ./...

sentences: ## print DRAW (25) random sentences each of docs, texts and comments, for a new reader
	@$(GO) test . -count=1 -run TestReaders -v -args -draw $(or $(DRAW),25)

statistics: ## simulate how often comparisons are wrong and write core/study/judge/testdata/tables.txt; takes minutes
	$(GO) test ./core/study/judge -run '^TestTables$$' -count=1 -timeout 2h -args -tables

contract: ## save the current sdk, at the beginning of a major version of the contract with plugins
	rm -f $(kept)/sdk-*.tar.gz
	git ls-files buf.yaml comm sdk internal | grep -v '_test\.go$$\|/testdata/' | \
		tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -T - -cf - | gzip -9n > $(kept)/sdk-$(major).0.tar.gz

breaking: ## check that the calls of the contract still have everything that the saved sdk has
	rm -rf bin/kept && mkdir -p bin/kept
	tar -xzf $(kept)/sdk-$(major).0.tar.gz -C bin/kept
	$(GO) tool -modfile=tools.mod buf breaking --against bin/kept
	rm -r bin/kept

bench: ## run the micro-benchmarks
	CGO_ENABLED=0 $(GO) test -run '^$$' -bench . -benchmem ./...

fuzz: ## run every fuzz target for FUZZTIME (default 10s)
	@set -e; for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

clean: ## remove build results
	rm -rf bin

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
