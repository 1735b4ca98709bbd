# Redline: build, check, measure. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

comma := ,
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# grpcnotrace omits the debug pages of the gRPC library, which Redline does not serve and which slow down every start. With netgo and osusergo
# on Linux, redline-native has the same packages of the standard library as redline, so that nearly all of it is compiled once for both.
TAGS := grpcnotrace$(if $(filter Linux,$(shell uname)),$(comma)netgo$(comma)osusergo)
# All stages compile with equal flags and without C, so that the build cache has each package once, for every stage and every clone.
# The exceptions are the race detector and redline-native.
# scripts/tool.sh makes compiling cheaper; GOFLAGS cannot name a folder with a space.
TOOLEXEC := $(if $(word 2,$(CURDIR)),,-toolexec=$(CURDIR)/scripts/tool.sh)
export GOFLAGS := $(strip $(filter-out -trimpath -tags=% -toolexec=%,$(GOFLAGS)) -trimpath -tags=$(TAGS) $(TOOLEXEC))
export CGO_ENABLED := 0
GOFLAGS_BUILD := -ldflags "-s -w -X github.com/redline-bench/redline/internal/release.version=$(VERSION)"
FUZZTIME ?= 10s
SOAK ?= 30m
# redline-native calls the in-process server through C; without a C compiler this part is omitted.
export NATIVE_CGO := $(shell command -v $${CC:-cc} >/dev/null 2>&1 && echo 1 || echo 0)

# Programs that `make peers` unpacked, for machines that do not have them.
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/redline
export PATH := $(PATH):$(CACHE)/debian-mpiexec:$(CACHE)/debian-zsh:$(CACHE)/debian-fish
# Their Python packages are installed without compiled modules: Python compiles what is used, once, and keeps it here.
export PYTHONPYCACHEPREFIX := $(CACHE)/pycache
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help build redline demo test quick quick-scripts quick-unit flaky race-packages check unit unit-race unit-plain unit-native tools peers e2e e2e-timed e2e-rest fmt generate bench test-heavy soak fuzz heavy-rest heavy-tune heavy-timed heavy-vllm cover dist wheel site clean

help: ## this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: redline ## bin/redline (static), bin/redline-native, bin/perf_analyzer and bin/llm_perf (links to bin/redline)
	CGO_ENABLED=$(NATIVE_CGO) go build $(GOFLAGS_BUILD) -tags native,$(TAGS) -o bin/redline-native ./cmd/redline

redline: # without redline-native
	@mkdir -p bin
	go build $(GOFLAGS_BUILD) -o bin/redline ./cmd/redline
	@ln -sf redline bin/perf_analyzer
	@ln -sf redline bin/llm_perf

demo: ## measure several concurrencies on the embedded server; prints where the files are
	@scripts/demo.sh

# Runs all stages and prints a summary: what failed, was inconclusive, was not tested.
TESTRUN := go run -C tools ./testrun -dir $(CURDIR)

test: ## everything that must hold: static checks, unit tests, end to end, real peers; ends with a summary
	@$(TESTRUN) -background peers=unit-race check build tools unit-race+unit-plain+unit-native e2e-timed e2e-rest

quick: redline ## about a minute, for the everyday edit: vet, scripts, unit tests without the race detector and long simulations
	@$(MAKE) --no-print-directory --output-sync=line --keep-going -j 2 quick-scripts quick-unit

# Scripts mostly wait: twelve at a time. The unit tests run beside them, four packages at once, because some of them wait too.
quick-scripts:
	REDLINE_BIN_DIR=$(CURDIR)/bin go test -vet=off -count=1 -parallel 12 -run '^TestScripts$$' ./e2e

quick-unit:
	go vet ./...
	go test -vet=off -short -p 4 $(UNIT)

# `make test` sets TESTFLAGS. Vet is part of `make check`.
GOTEST = go test -vet=off $(TESTFLAGS)
# The race detector needs a C compiler; by default it sleeps for a second at the end of each package.
RACETEST = CGO_ENABLED=$(NATIVE_CGO) GORACE=atexit_sleep_ms=0 $(GOTEST) $(if $(filter 1,$(NATIVE_CGO)),-race)
UNIT := . ./cmd/... ./internal/...
# Packages that start goroutines or wait for connections, in their code or in their tests, or whose tests use locks. The packages of the
# command line import all others, and compiling all of them for the race detector takes a minute; so only `make flaky` runs those with it.
CONCURRENCY := ^\s+go (func|[a-zA-Z_.]+[(])|[.]Go[(]|synctest|httptest|net[.]Listen
CONCURRENT = $(shell { grep -rlE --include='*.go' '$(CONCURRENCY)' internal; grep -rl --include='*_test.go' '"sync' internal; } \
  | grep -vE '^internal/(cli|command)/' | xargs grep -LE '^//go:build !race$$' | xargs -n 1 dirname | sort -u | sed 's|^|./|')

flaky: ## unit tests COUNT times (10), shuffled, with the race detector, beside one busy process per core
	@scripts/flaky.sh

race-packages: # PACKAGES with the race detector, COUNT times: for scripts/flaky.sh, and for packages in which the race detector crashed
	$(RACETEST) -shuffle=on -count=$(or $(COUNT),1) -timeout 60m $(PACKAGES)

check: ## format, vet, lint, known vulnerabilities, protocol code
	@scripts/check.sh

# The race detector makes tests several times slower: packages without concurrency run without it, and so do tests in files with the build
# constraint !race: simulations, and counts of memory, which the race detector changes. The order of tests is fixed, so that go test keeps the
# outcome of a package of which nothing has changed; `make flaky` changes the order.
SIMULATIONS = $(shell grep -rlE --include='*_test.go' '^//go:build !race$$' internal | xargs -n 1 dirname | sort -u | sed 's|^|./|')
unit: ## import direction and unit tests, with the race detector where there is concurrency
	@$(MAKE) --no-print-directory --keep-going unit-race unit-plain

unit-race: # what waits longest goes first
	$(RACETEST) -timeout 30m ./internal/fleet ./internal/term $(CONCURRENT)

unit-plain:
	$(GOTEST) -timeout 30m $(SIMULATIONS) $$(go list $(UNIT) | grep -vxF "$$(go list $(CONCURRENT))")

unit-native: ## unit tests of the parts that load shared libraries
	@if [ $(NATIVE_CGO) = 1 ]; then set -x; \
	CGO_ENABLED=1 $(GOTEST) -tags native,$(TAGS) -timeout 30m ./internal/service/tritoncapi ./internal/mpi ./internal/shm; \
	else echo "NOT TESTED: data races, and the parts that load shared libraries: no C compiler; install gcc"; [ "$${CI:-}" != true ]; fi

tools: ## tests of the project's own tools
	go -C tools test -vet=off $(TESTFLAGS) ./...

peers: ## install what the end-to-end tests need into the cache folder
	@scripts/peers.sh

# Tests that compare measured times, with a server's log or with another program, are named TestTimed and run alone. The others, which
# mostly wait for windows, run four packages at once, the longest first, and four tests of each.
LONGEST := ./e2e/browser ./e2e ./e2e/qa ./e2e/clients ./e2e/llm ./e2e/conformance ./e2e/fleet ./e2e/dist ./e2e/tokenizer ./e2e/newcomer ./e2e/faults ./e2e/stress ./e2e/tune ./e2e/kinds
TIMED := ./e2e/tune ./e2e/find ./e2e/fleet ./e2e/interrupt ./e2e/accuracy ./e2e/llm ./e2e/vllm ./e2e/planted ./e2e/pairs
TIMED_TESTS := ^TestTimed
E2E = REDLINE_BIN_DIR=$(CURDIR)/bin $(GOTEST) -count=1 -timeout 60m
e2e: build peers ## the built binary: scripts, accuracy, static check, the real Triton and perf_analyzer
	@$(TESTRUN) e2e-timed e2e-rest

e2e-timed: # the tests that measure
	$(E2E) -p 1 -run '$(TIMED_TESTS)' $(TIMED)

e2e-rest: # all others
	$(E2E) -p 4 -parallel 4 -skip '$(TIMED_TESTS)' $(LONGEST) ./e2e/...

fmt: ## format the tree
	@if linter=$$(scripts/linter.sh); then "$$linter" fmt ./...; else gofmt -w $$(git ls-files '*.go'); fi

generate: ## protocol code and docs/flags.md
	go generate ./...

bench: build ## compare with wrk, h2load, perf_analyzer and a bare loop; 20 to 30 minutes
	go run ./bench -bin bin/redline -out out/bench

# As in `make test`, tests that measure times run alone, and so do the checks that need steady windows or send 1,000 requests a second to
# Triton (STEADY). All others run at once before them, the longest first, together with fuzzing and with the searches of e2e/tune, on servers
# that only wait. All but these searches are niced, so that nothing delays the searches. Packages of which `make test` leaves nothing out do not
# run again, and internal/stats would take hours.
STEADY := ^TestChecks$$/^(B1[3-5]_.|no_model|ground_truth|ranks)$$
SHORTENED = $(shell grep -rlE 'outcome[.]Heavy|testkit[.]Rounds|e2e/guide"' --include='*.go' internal e2e | grep -vE '^internal/(stats|testkit)/' \
  | xargs -n 1 dirname | sort -u | sed 's|^|./|')
HEAVY = REDLINE_HEAVY=1 $(E2E)
test-heavy: ## whole windows and loads, GenAI-Perf, Model Analyzer, AIPerf, vLLM, fuzzing; about an hour, ends with a summary
	@REDLINE_HEAVY=1 FUZZTIME=5s $(TESTRUN) -repeat-until 74m -background fuzz=heavy-timed peers build heavy-rest+heavy-tune heavy-timed heavy-vllm

soak: build ## every protocol at full speed for SOAK (30m) while the server fails each second; then two minutes of each fuzz target
	REDLINE_HEAVY=1 SOAK=$(SOAK) $(E2E:60m=0) -v ./e2e/soak
	@FUZZTIME=2m scripts/fuzz.sh

fuzz: ## every fuzz target for FUZZTIME (10s)
	@FUZZTIME=$(FUZZTIME) nice scripts/fuzz.sh

heavy-rest: # all that does not measure
	nice env $(HEAVY) -p 4 -parallel 4 -skip '$(STEADY)|$(TIMED_TESTS)' ./e2e/dist ./internal/find ./e2e/tokenizer ./internal/compare ./e2e/heavy ./e2e/qa $(SHORTENED)

heavy-tune: # searches on servers that only wait
	$(HEAVY) -run '$(TIMED_TESTS)' ./e2e/tune

heavy-timed: # the tests that measure, and steady windows
	$(HEAVY) -p 1 -run '$(TIMED_TESTS)|$(STEADY)' $(filter-out ./e2e/tune ./e2e/vllm,$(filter $(SHORTENED),$(TIMED))) ./e2e/qa

heavy-vllm: # a real vLLM, which uses all cores
	$(HEAVY) -run '$(TIMED_TESTS)' ./e2e/vllm

cover: ## coverage of the unit tests
	go test -vet=off -coverprofile=coverage.out -coverpkg=./internal/... ./cmd/... ./internal/...
	@go tool cover -func=coverage.out | tail -1

dist: ## release files in dist/: archives, checksums, SBOM, .deb, .rpm, OCI image, Homebrew formula
	@VERSION=$(VERSION) scripts/dist.sh archives packages image

wheel: ## Python wheels in dist/ for all platforms
	@VERSION=$(VERSION) scripts/dist.sh wheels

site: ## the manual as a site with search in out/site
	@scripts/site.sh

clean: ## remove the files that make created
	rm -rf bin dist out coverage.out
