# `make help` lists the targets. Everything but lint, generate and RACE=1 needs
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

# What CUDA code is compiled against and linked with, and the double of the driver that its tests
# run on, unless GPU=1 has them run on that of the machine.
cuda       := bin/cuda
double     := bin/double
cuda_env   := CGO_ENABLED=1 CGO_CFLAGS="-O2 -g -I$(CURDIR)/$(cuda)" CGO_LDFLAGS="-L$(CURDIR)/$(cuda) -Wl,-z,lazy"
cuda_tests := ./cuda/... ./cmd/psbench-cuda/...
of_build   := ./cuda/header ./cuda/double ./cuda/mutants
on_driver  := $(if $(GPU),,LD_LIBRARY_PATH=$(CURDIR)/$(double))

# How long make test-cuda may take, which runs on every commit; FULL=1 and a GPU take what they need.
limit_s := $(if $(GPU)$(FULL),,480)
began_s := $(shell date +%s)

# What the contract with plugins was when its major version began.
kept  := cmd/psbench/testdata/contract
major := $(shell sed -n 's/^var Contract = Version{\([0-9]*\), .*/\1/p' internal/host/version.go)

# Plugins are started as processes, so a test that hangs hangs for good. A machine that
# does other things as well takes several times as long as an idle one.
# Many tests wait for a deadline of their run, hence more at a time than there are cores.
TESTFLAGS      ?= -timeout 30m -parallel 4

ifdef RACE
# A race in a plugin process must end it, and so the run and the test.
test_env   := CGO_ENABLED=1 GORACE='halt_on_error=1 atexit_sleep_ms=0'
# What is allocated, kept, shown or attributed to a part of the time is for builds without it.
race_flag  := -race -skip 'Allocat|MemoryOf|FitsTheTerminal|Attributes'
# Where no package and no test of it has anything run beside anything else, there is no race to find.
# CUDA code is built by test-cuda alone, and what needs a cluster by test-slurm.
beside     := ^[[:space:]]*go |\.(Go|Parallel)\(|sync\.[MPRCW]|atomic\.
packages    = $(or $(addprefix ./,$(sort $(dir $(shell git grep --untracked -lE '$(beside)' -- '*.go' ':!*/testdata/*' ':!cuda' ':!cmd/psbench-cuda' ':(exclude,glob)bench/cluster/*.go')))),$(error git grep finds no package in which anything runs beside anything else))
else
test_env   := CGO_ENABLED=0
packages   := ./...
endif

# A short run takes fewer combinations of what is tested with each other; FULL=1 all.
test_flags := $(race_flag) $(if $(FULL),,-short)

.DEFAULT_GOAL := help
.PHONY: run build cuda ptx cuda-symbols cuda-bundle test test-cuda mutate-cuda test-python test-web test-browsers test-slurm faults lint lint-cuda lint-proof generate sentences statistics contract breaking bench fuzz clean help

run: build ## build psbench and run the main job; ARGS="..." gives other flags
	bin/psbench $(ARGS)

build: ## build bin/psbench, without a C compiler
	CGO_ENABLED=0 $(GO) build -ldflags '$(stamp)' -o bin/psbench ./cmd/psbench

$(cuda)/libcuda.so: cuda/header/*.go go.mod
	$(GO) run ./cuda/header -o $(cuda)

cuda: build $(cuda)/libcuda.so ## build bin/psbench-cuda too, by gcc, without any part of CUDA
	$(cuda_env) $(GO) build -tags nvidia -ldflags '$(stamp)' -o bin/psbench-cuda ./cmd/psbench-cuda

test-cuda: cuda cuda-bundle ## run the tests of CUDA code on a double of the driver, by gcc, those of the bundle as it unpacks; GPU=1 on the machine's GPU
	$(if $(GPU),,$(MAKE) --no-print-directory -C cuda/double OUT=$(CURDIR)/$(double))
	$(on_driver) $(cuda_env) $(GO) test -tags nvidia $(if $(FULL),,-short) $(TESTFLAGS) $(if $(limit_s),-timeout $(limit_s)s) $(of_build) $(if $(GPU),,./core/host/devices)
	unpacked=$$(mktemp -d) && trap 'rm -rf "$$unpacked"' EXIT && tar -xzf bin/cuda-bundle.tar.gz -C "$$unpacked" && cd "$$unpacked/psbench-cuda" && \
		$(on_driver) $(if $(FULL),,SHORT=1) VERBOSE=1 $(if $(GPU),,JOBS=2) FLAGS="$(patsubst -%,-test.%,$(TESTFLAGS)) $(if $(limit_s),-test.timeout $(limit_s)s)" ./run$(if $(GPU),, && \
		$(on_driver) PSBENCH_DOUBLE_DEVICES=4 bin/psbench verify --device cuda --backend nccl)
	$(if $(limit_s),@took_s=$$(($$(date +%s) - $(began_s))); [ $$took_s -le $(limit_s) ] || { echo "make test-cuda took $$took_s s but may take $(limit_s)" >&2; exit 1; })

mutate-cuda: cuda ## take each wait and each call of the driver out of CUDA code, and see that tests fail; minutes
	$(MAKE) --no-print-directory -C cuda/double OUT=$(CURDIR)/$(double)
	PSBENCH_TEST_MUTANTS=all LD_LIBRARY_PATH=$(CURDIR)/$(double) $(cuda_env) $(GO) test -tags nvidia -v -timeout 2h ./cuda/mutants

ptx: ## make the PTX of the CUDA kernels again, by clang-14
	cuda/kernels/make-ptx

cuda-symbols: ## list the functions of the driver that bin/psbench-cuda imports
	@$(GO) run ./cuda/header -symbols bin/psbench-cuda

cuda-bundle: $(cuda)/libcuda.so ## pack bin/cuda-bundle.tar.gz: psbench, its CUDA tests and what runs them, for a GPU without Go
	$(cuda_env) GO="$(GO)" STAMP='$(stamp)' cuda/bundle/pack bin/cuda-bundle.tar.gz $(cuda_tests)

test: ## run all tests; FULL=1 in all combinations, RACE=1 with the race detector, which needs gcc
	$(test_env) $(GO) test $(test_flags) $(TESTFLAGS) $(packages)

test-python: ## run the tests of the Python package by PYTHON, which has grpcio, protobuf, numpy and torch
	cd python && PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m unittest discover -s tests -t .

test-web: ## run the tests of the page by node, which is of version 18 or newer
	cd web && node --test $$(find src -name "*.test.js")

test-browsers: build ## drive chromium and firefox-esr through reports of recorded runs and a page that grows; needs npm
	cd web/e2e && npm ci --ignore-scripts --no-audit --no-fund --silent && PSBENCH=$(CURDIR)/bin/psbench node --test *.test.js

test-slurm: build ## run psbench on the nodes of a cluster in namespaces of this machine, by Slurm and by ssh; needs root
	PSBENCH=$(CURDIR)/bin/psbench $(GO) test -tags slurm -count=1 $(TESTFLAGS) ./bench/cluster/

faults: build ## strike runs on two nodes with SEEDS (30) faults of each kind, at moments drawn from seeds, and print the table; needs root
	PSBENCH=$(CURDIR)/bin/psbench $(GO) test -tags slurm -count=1 -timeout 4h -run '^Test(Faults|Survived)$$' -v ./bench/cluster/ -args -seeds $(SEEDS)

lint: ## run golangci-lint
	$(GOLANGCI_LINT) run ./...

lint-cuda: $(cuda)/libcuda.so ## run golangci-lint on CUDA code, which needs gcc
	$(cuda_env) $(GOLANGCI_LINT) run --build-tags nvidia $(cuda_tests)

lint-proof: ## show that lint reports every forbidden import
	GOLANGCI_LINT="$(GOLANGCI_LINT)" .ci/lint-proof

generate: ## make the protobuf code, for Python its description, the JSON schemas, the page and the assembly again
	$(GO) tool -modfile=tools.mod buf generate
	$(GO) tool -modfile=tools.mod buf generate core/process/agent/proto --template core/process/agent/proto/buf.gen.yaml
	$(GO) tool -modfile=tools.mod buf build --exclude-source-info -o python/psbench/psbench.binpb
	$(GO) generate ./...

sentences: ## print DRAW (25) random sentences of docs, texts and comments each, for a fresh reader
	@$(GO) test . -count=1 -run TestReaders -v -args -draw $(or $(DRAW),25)

statistics: ## simulate how often comparisons are wrong and write core/study/judge/testdata/tables.txt; minutes
	$(GO) test ./core/study/judge -run '^TestTables$$' -count=1 -timeout 2h -args -tables

contract: ## keep the sdk as it is, as a major version of the contract with plugins begins
	rm -f $(kept)/sdk-*.tar.gz
	git ls-files buf.yaml comm sdk internal | grep -v '_test\.go$$\|/testdata/' | \
		tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -T - -cf - | gzip -9n > $(kept)/sdk-$(major).0.tar.gz

breaking: ## see that the calls of the contract have all that those of the kept sdk have
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

clean: ## remove what was built
	rm -rf bin

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
