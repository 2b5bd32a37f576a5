# `make help` lists the targets. Everything but lint, generate and RACE=1 needs
# only Go, make and git.

GO             ?= go
GOLANGCI_LINT  ?= golangci-lint
PYTHON         ?= /usr/bin/python3
FUZZTIME       ?= 10s
ARGS           ?= --trainer ddp --server average

# Every result names the commit that psbench was built from.
commit := $(shell git describe --always --dirty 2>/dev/null)

# What the contract with plugins was when its major version began.
kept  := cmd/psbench/testdata/contract
major := $(shell sed -n 's/^var Contract = Version{\([0-9]*\), .*/\1/p' sdk/host/version.go)

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
beside     := ^[[:space:]]*go |\.(Go|Parallel)\(|sync\.[MPRCW]|atomic\.
packages    = $(or $(addprefix ./,$(sort $(dir $(shell git grep --untracked -lE '$(beside)' -- '*.go' ':!*/testdata/*')))),$(error git grep finds no package in which anything runs beside anything else))
else
test_env   := CGO_ENABLED=0
packages   := ./...
endif

# A short run takes fewer combinations of what is tested with each other; FULL=1 all.
test_flags := $(race_flag) $(if $(FULL),,-short)

.DEFAULT_GOAL := help
.PHONY: run build test test-python test-web test-browsers lint lint-proof generate contract breaking bench fuzz clean help

run: build ## build psbench and run the main job; ARGS="..." gives other flags
	bin/psbench $(ARGS)

build: ## build bin/psbench, without a C compiler
	CGO_ENABLED=0 $(GO) build -ldflags '-X github.com/psbench/psbench/core/result.stampedCommit=$(commit)' -o bin/psbench ./cmd/psbench

test: ## run all tests; FULL=1 in all combinations, RACE=1 with the race detector, which needs gcc
	$(test_env) $(GO) test $(test_flags) $(TESTFLAGS) $(packages)

test-python: ## run the tests of the Python package by PYTHON, which has grpcio, protobuf, numpy and torch
	cd python && PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m unittest discover -s tests -t .

test-web: ## run the tests of the page by node, which is of version 18 or newer
	cd web && node --test $$(find src -name "*.test.js")

test-browsers: build ## drive chromium and firefox-esr through reports of recorded runs and a page that grows; needs npm
	cd web/e2e && npm ci --ignore-scripts --no-audit --no-fund --silent && PSBENCH=$(CURDIR)/bin/psbench node --test *.test.js

lint: ## run golangci-lint
	$(GOLANGCI_LINT) run ./...

lint-proof: ## show that lint reports every forbidden import
	GOLANGCI_LINT="$(GOLANGCI_LINT)" .ci/lint-proof

generate: ## make the protobuf code, for Python its description, the JSON schemas, the page and the assembly again
	$(GO) tool -modfile=tools.mod buf generate
	$(GO) tool -modfile=tools.mod buf build --exclude-source-info -o python/psbench/psbench.binpb
	$(GO) generate ./...

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
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
