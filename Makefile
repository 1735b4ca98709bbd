# Redline: build, check, measure. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# grpcnotrace omits the debug pages of the gRPC library, which Redline does not serve and which slow down every start.
TAGS := grpcnotrace
GOFLAGS_BUILD := -trimpath -ldflags "-s -w -X main.version=$(VERSION)"
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
FUZZTIME ?= 20s
SOAK ?= 30m
# redline-native calls the in-process server through C; without a C compiler this part is omitted.
NATIVE_CGO := $(shell command -v $${CC:-cc} >/dev/null 2>&1 && echo 1 || echo 0)

# Programs that `make peers` unpacked, for machines that do not have them.
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/redline
export PATH := $(PATH):$(CACHE)/debian-mpiexec:$(CACHE)/debian-zsh:$(CACHE)/debian-fish

.PHONY: help build demo test quick flaky flaky-stage check unit unit-native tools peers e2e e2e-timed e2e-rest fmt generate bench test-heavy soak fuzz heavy-rest heavy-timed heavy-steady cover dist clean

help: ## this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## bin/redline (static), bin/redline-native, bin/perf_analyzer (a link to bin/redline)
	@mkdir -p bin
	CGO_ENABLED=0 go build $(GOFLAGS_BUILD) -tags $(TAGS) -o bin/redline ./cmd/redline
	CGO_ENABLED=$(NATIVE_CGO) go build $(GOFLAGS_BUILD) -tags native,$(TAGS) -o bin/redline-native ./cmd/redline
	@ln -sf redline bin/perf_analyzer

demo: ## measure several concurrencies on the embedded server; prints where the files are
	@scripts/demo.sh

# Runs all stages and prints a summary: what failed, was inconclusive, was not tested.
TESTRUN := go run -C tools ./testrun -dir $(CURDIR)

test: ## everything that must hold: static checks, unit tests, end to end, real peers; ends with a summary
	@$(TESTRUN) -background peers=unit check build tools unit unit-native e2e-timed e2e-rest

quick: build ## about a minute, for the everyday edit: vet, unit tests without the race detector, scripts
	go vet ./...
	go test . ./cmd/... ./internal/...
	REDLINE_BIN_DIR=$(CURDIR)/bin go test -count=1 -run '^TestScripts$$' ./e2e

# The race detector needs a C compiler; by default it sleeps for a second at the end of each package. `make test` sets TESTFLAGS.
UNIT = GORACE=atexit_sleep_ms=0 go test $(TESTFLAGS) $(if $(filter 1,$(NATIVE_CGO)),-race) -shuffle=on

flaky: ## unit tests COUNT times (10), shuffled, with the race detector, beside one busy process per core
	@scripts/flaky.sh

flaky-stage: # what scripts/flaky.sh runs beside its busy processes
	$(UNIT) -count=$(COUNT) -timeout 60m $(PACKAGES)

check: ## format, vet, lint, known vulnerabilities, generated files
	@scripts/check.sh

unit: ## import direction and unit tests, with the race detector, shuffled
	$(UNIT) -timeout 10m . ./cmd/... ./internal/...
	go test $(TESTFLAGS) -timeout 10m ./internal/compare ./internal/find # their simulations, which are slow with the race detector

unit-native: ## unit tests of the parts that load shared libraries
	@if [ $(NATIVE_CGO) = 1 ]; then set -x; \
	CGO_ENABLED=1 go test $(TESTFLAGS) -tags native -shuffle=on -timeout 10m ./internal/service/tritoncapi ./internal/mpi ./internal/shm; \
	else echo "NOT TESTED: data races, and the parts that load shared libraries: no C compiler; install gcc"; [ "$${CI:-}" != true ]; fi

tools: ## tests of the project's own tools
	go -C tools test $(TESTFLAGS) ./...

peers: ## install what the end-to-end tests need into the cache folder
	@scripts/peers.sh

# Packages that compare measured times with a server's log run alone; the others, which mostly wait for windows, run four at
# once, the longest first.
LONGEST := ./e2e/tokenizer ./e2e/conformance ./e2e/clients ./e2e/qa ./e2e ./e2e/browser ./e2e/faults
TIMED := ./e2e/accuracy ./e2e/llm ./e2e/planted ./e2e/pairs
E2E := REDLINE_BIN_DIR=$(CURDIR)/bin go test $(TESTFLAGS) -count=1 -timeout 30m
e2e: build peers ## the built binary: scripts, accuracy, static check, the real Triton and perf_analyzer
	@$(TESTRUN) e2e-timed e2e-rest

e2e-timed: # the packages that measure
	$(E2E) -p 1 $(TIMED)

e2e-rest: # all others
	$(E2E) -p 4 $(LONGEST) $$(go list ./e2e/... | grep -vxF "$$(go list $(TIMED))")

fmt: ## format the tree
	@if lint=$$(scripts/lint.sh); then "$$lint" fmt ./...; else gofmt -w $$(git ls-files '*.go'); fi

generate: ## protocol code and docs/flags.md
	go generate ./...

bench: build ## compare with wrk, h2load, perf_analyzer and a bare loop; six to seven minutes
	go run ./bench -bin bin/redline -out out/bench

# As in `make test`, packages that measure times run alone; at the end, so do the checks that need steady windows. All others
# mostly wait, for windows and for other programs: they run at once, the longest first, together with fuzzing.
STEADY := ^TestChecks$$/^(no_model|ground_truth|ranks)$$
HEAVY := REDLINE_HEAVY=1 $(E2E:30m=60m)
test-heavy: ## whole windows and loads, GenAI-Perf, Model Analyzer, AIPerf, fuzzing; about an hour, ends with a summary
	@REDLINE_HEAVY=1 $(TESTRUN) -background fuzz=heavy-timed peers build heavy-rest heavy-timed heavy-steady

soak: build ## every protocol at full speed for SOAK (30m) while the server fails each second; then two minutes of each fuzz target
	REDLINE_HEAVY=1 SOAK=$(SOAK) $(E2E:30m=0) -v ./e2e/soak
	@FUZZTIME=2m scripts/fuzz.sh

fuzz: ## every fuzz target for FUZZTIME (20s)
	@FUZZTIME=$(FUZZTIME) scripts/fuzz.sh

heavy-rest: # what waits most of the time
	$(HEAVY) -p 3 -skip '$(STEADY)' ./internal/compare ./internal/find ./e2e/heavy ./e2e/qa $$(go list ./e2e/... | grep -vxF "$$(go list $(TIMED))")

heavy-timed: # the packages that measure
	$(HEAVY) -p 1 $(TIMED)

heavy-steady: # checks whose windows must be steady
	$(HEAVY) -run '$(STEADY)' ./e2e/qa

cover: ## coverage of the unit tests
	go test -coverprofile=coverage.out -coverpkg=./internal/... ./cmd/... ./internal/...
	@go tool cover -func=coverage.out | tail -1

dist: ## release archives for all platforms, with checksums
	@VERSION=$(VERSION) scripts/dist.sh $(PLATFORMS)

clean: ## remove the files that make created
	rm -rf bin dist out coverage.out
