# Stoa's tasks. `make help` lists them; CONTRIBUTING.md says when to use which.
#
# Nothing here writes to Go's own settings: what RocksDB needs is worked out by
# engine/rocks/compat/env.sh for each recipe. Works with GNU make 3.81 and later.

SHELL := /bin/sh
.DEFAULT_GOAL := help
# Recipes run side by side would mix their output and build the same things twice.
.NOTPARALLEL:

# Flags for `go test`, such as TESTFLAGS='-run Golden -v'.
TESTFLAGS ?=
# The share of generated cases that property tests run under the race detector,
# which makes each about ten times slower. Tests read STOA_TEST_SCALE.
RACE_SCALE ?= 0.1
# How long each fuzz target runs; FUZZTOTAL, if set, is shared by all of them.
FUZZTIME ?= 1m
FUZZTOTAL ?=
# Arguments of `stoa serve` for `make run`, of `stoa bench` for `make bench`
# and `make bench-quick`, and of bench/peers for `make bench-peers`.
ARGS ?=
# The Debian releases of `make portability`.
RELEASES ?= bookworm trixie

# Tools are built from source at these versions, into bin/tools. The plugins
# that write Go for buf have theirs in rpc/proto/buf.gen.yaml.
STATICCHECK_VERSION := v0.8.2
BUF_VERSION := v1.60.0

TOOLS := bin/tools
STATICCHECK := $(TOOLS)/staticcheck@$(STATICCHECK_VERSION)/staticcheck
BUF := $(TOOLS)/buf@$(BUF_VERSION)/buf

# In front of every go command that may compile engine/rocks.
ROCKS := eval "$$(sh engine/rocks/compat/env.sh)" &&

.PHONY: help run build deps env test race nocgo lint fuzz bench bench-quick \
	bench-peers demo smoke generate proto-lint proto-breaking proto-baseline tools portability clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' Makefile

run: build ## build, then run the daemon on ./stoa-data (ARGS='...' for its flags)
	@exec bin/stoa serve $(ARGS)

build: deps ## build bin/stoa
	$(ROCKS) go build -o bin/stoa ./cmd/stoa

deps: ## check what a build needs; on Debian and Ubuntu install what is missing
	@sh engine/rocks/compat/deps.sh

env: ## print the flags for a bare go command or an editor: eval "$(make -s env)"
	@sh engine/rocks/compat/env.sh

test: deps ## run all tests (TESTFLAGS='-run X' for go test's flags)
	$(ROCKS) go test -timeout 8m $(TESTFLAGS) ./...

race: deps ## run all tests under the race detector, with fewer generated cases
	$(ROCKS) STOA_TEST_SCALE=$(RACE_SCALE) go test -race -timeout 8m $(TESTFLAGS) ./...

nocgo: ## build and test without cgo: everything but engine/rocks
	CGO_ENABLED=0 go build ./...
	CGO_ENABLED=0 go test -timeout 8m $(TESTFLAGS) ./...

lint: deps $(STATICCHECK) proto-lint proto-breaking ## gofmt, go vet, staticcheck, go.mod tidy, generated code current
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')) && \
		{ [ -z "$$unformatted" ] || { printf 'not formatted, run gofmt -w on:\n%s\n' "$$unformatted"; exit 1; }; }
	$(ROCKS) go vet ./...
	$(ROCKS) $(STATICCHECK) ./...
	go mod tidy -diff

fuzz: deps ## run every fuzz target for FUZZTIME each (default 1m)
	@$(ROCKS) FUZZTIME='$(FUZZTIME)' FUZZTOTAL='$(FUZZTOTAL)' bash .ci/fuzz

bench: build ## run the benchmarks into bench/results (ARGS='...' for the flags of stoa bench)
	bin/stoa bench --out bench/results $(ARGS)

bench-quick: build ## run the benchmarks for a first look: fewer rows, short turns
	bin/stoa bench --quick $(ARGS)

bench-peers: deps ## measure Pebble and bbolt beside engine/rocks (ARGS='-help' for the flags)
	$(ROCKS) go -C bench/peers build -o ../../bin/bench-peers .
	bin/bench-peers $(ARGS)

demo: build ## run the session of the README against a daemon of its own
	@bash .ci/demo

smoke: demo ## the demo, and clients in other languages where those are installed
	$(ROCKS) go test -count=1 -v -run 'ClientTalksToTheDaemon$$' ./rpc/server

# buf.gen.yaml writes two folders up, to the root when run in rpc/proto.
generate: $(BUF) ## write the Go code of rpc/proto to rpc/stoav1
	rm -f rpc/stoav1/*.pb.go
	cd rpc/proto && ../../$(BUF) generate

proto-lint: $(BUF) ## check the style of rpc/proto, and that rpc/stoav1 is generated from it
	$(BUF) lint rpc/proto
	@scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && mkdir -p "$$scratch/rpc/proto" && \
		(cd rpc/proto && ../../$(BUF) generate --output "$$scratch/rpc/proto") && \
		{ diff -ru rpc/stoav1 "$$scratch/rpc/stoav1" || { echo 'rpc/stoav1 is not what rpc/proto generates: run make generate'; exit 1; }; }

proto-breaking: $(BUF) ## refuse changes to rpc/proto that would break a client
	$(BUF) breaking rpc/proto --against rpc/proto/baseline.binpb

proto-baseline: $(BUF) ## at a release: make today's rpc/proto what clients rely on
	$(BUF) build rpc/proto -o rpc/proto/baseline.binpb

tools: $(STATICCHECK) $(BUF) ## build the tools of lint and generate into bin/tools

portability: ## build and test in a chroot of each Debian release (as root; RELEASES='...')
	@bash engine/rocks/compat/portability.sh $(RELEASES)

clean: ## delete bin/ (stoa-data stays)
	rm -rf bin

# Tools are for the machine that builds and need no cgo.
$(STATICCHECK):
	GOBIN="$(CURDIR)/$(@D)" CGO_ENABLED=0 go install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION)
$(BUF):
	GOBIN="$(CURDIR)/$(@D)" CGO_ENABLED=0 go install github.com/bufbuild/buf/cmd/buf@$(BUF_VERSION)
