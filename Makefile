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
RACE_SCALE ?= 0.05
# The same for the build without cgo: what is not behind a build tag is compiled from the
# same source as for `make test`, which has run it in full.
NOCGO_SCALE ?= 0.05
# How long each fuzz target runs; FUZZTOTAL, if set, is shared by all of them.
FUZZTIME ?= 1m
TIME ?= 10m
FUZZTOTAL ?=
# Arguments of `stoa serve` for `make run`, of bench/peers for `make bench-peers`,
# of fuzz/torture for `make torture`, and of `stoa bench` for the other benchmarks.
ARGS ?=
# How often `make flaky` runs the suite.
ROUNDS ?= 10
# The releases of Debian and Ubuntu of `make portability`, and what runs in each;
# empty: all tests.
RELEASES ?= bookworm trixie noble
COMMAND ?=

# Tools are built from source at these versions, into bin/tools. The plugins
# that write Go for buf have theirs in rpc/proto/buf.gen.yaml.
STATICCHECK_VERSION := v0.8.2
BUF_VERSION := v1.60.0
DEADCODE_VERSION := v0.52.0
NFPM_VERSION := v2.44.0

TOOLS := bin/tools
STATICCHECK := $(TOOLS)/staticcheck@$(STATICCHECK_VERSION)/staticcheck
BUF := $(TOOLS)/buf@$(BUF_VERSION)/buf
DEADCODE := $(TOOLS)/deadcode@$(DEADCODE_VERSION)/deadcode
NFPM := $(TOOLS)/nfpm@$(NFPM_VERSION)/nfpm

# Where `make install` puts things, and what packages put before that.
PREFIX ?= /usr/local
DESTDIR ?=

# The workloads on rows, which all subjects of `make bench` have in common.
ROWS := get,get-16,get-64,multiget-100,scan-100,scan-all,mixed-90,put,batch-100,put-synced-1,put-synced-64
TYPED := typed-get,typed-put,typed-batch-100,typed-scan-100

# Those of contexts, of governance and of blobs, each beside what it stands on.
LAYERS := dag-commit,dag-add,dag-parallel,dag-reverse,dag-merge,dag-diff,gov-apply,gov-catchup,gov-log,gov-rotate,sync-admit,sync-catchup,sync-differ,blob-put,blob-get

# The workloads of the Kv service.
KVS := kv-put,kv-put-16,kv-get,kv-get-16,kv-incr,kv-durable-1,kv-durable-16,kv-durable-64,kv-read,kv-mix,kv-list,kv-expire,kv-ttl,session-expire

# Those of the service Bucket, beside NATS KV.
BUCKETS := bucket-put-1,bucket-put-16,bucket-put-64,bucket-get,bucket-history,bucket-watch,bucket-keys,bucket-suffix

# Those of the services Record and Policy, each beside Kv or Store.
POLICIES := record-create,record-list,policy-decide,policy-decide-16,ledger-append

# Those of the services by which agents coordinate, each beside Kv, and locks beside etcd and Redis.
AGENTS := lock-pair,lock-pair-16,lock-pair-64,lock-contended,lock-handoff,limit-check

# Without golang.org/x/net/trace, which brings html/template and what .ci/linked looks for. One
# set of tags for all: with others Go compiles everything above gRPC once more.
export GOFLAGS := $(strip $(filter-out -tags=%,$(GOFLAGS)) -tags=grpcnotrace)

# In front of every go command that may compile engine/rocks.
ROCKS := eval "$$(sh engine/rocks/compat/env.sh)" &&

.PHONY: help clients run build install uninstall rocksdb dist deb man deps env test test-view damage torture race kv-kills nocgo lint fuzz bench bench-quick bench-offline \
	bench-soak bench-cold bench-tries bench-peers bench-crdt bench-clients bench-decide natskv tikv tikv-cluster torture-tikv test-tikv bench-before bench-build mutants siege flaky demo smoke generate proto-lint proto-breaking proto-baseline tools portability clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' Makefile

run: build ## build, then run the daemon on ./stoa-data (ARGS='...' for its flags)
	@exec bin/stoa serve $(ARGS)

build: deps ## build bin/stoa
	$(ROCKS) go build -o bin/stoa ./cmd/stoa

deps: ## check what a build needs; on Debian and Ubuntu install what is missing
	@sh engine/rocks/compat/deps.sh

install: ## install the program, manual pages, completions, units and the user's line (PREFIX=/usr/local, DESTDIR=)
	@[ -x bin/stoa ] || $(MAKE) --no-print-directory build
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' sh cmd/stoa/packaging/install.sh install

uninstall: ## take away what make install has put there, with the same PREFIX and DESTDIR; data stays
	@[ -x bin/stoa ] || $(MAKE) --no-print-directory build
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' sh cmd/stoa/packaging/install.sh uninstall

rocksdb: deps ## compile RocksDB for release, statically, into bin/rocksdb (half an hour, once); then: make build ROCKSDB_PREFIX=$PWD/bin/rocksdb
	@sh engine/rocks/compat/rocksdb.sh bin/rocksdb

dist: $(if $(ROCKSDB_PREFIX),,rocksdb) ## pack one program that takes nothing but libc, with checksums, into bin/dist
	@sh cmd/stoa/packaging/dist.sh tar

deb: $(if $(ROCKSDB_PREFIX),,rocksdb) $(NFPM) ## the same as a package of Debian and Ubuntu
	@NFPM='$(CURDIR)/$(NFPM)' sh cmd/stoa/packaging/dist.sh deb

man: build ## write the manual pages into bin/man/man1
	bin/stoa man bin/man/man1

env: ## print the flags for a bare go command or an editor: eval "$(make -s env)"
	@sh engine/rocks/compat/env.sh
	@echo "export GOFLAGS='$(GOFLAGS)'"

test: deps ## run all tests (TESTFLAGS='-run X' for go test's flags)
	$(ROCKS) go test -timeout 60m $(TESTFLAGS) ./...

test-view: ## go through the page of `stoa view` in headless Chromium; skipped, and said so, without one
	@mkdir -p bin/view && cp cmd/view/testdata/npm/*.json bin/view && cd bin/view && npm ci --silent --no-audit --no-fund --ignore-scripts || true
	CGO_ENABLED=0 STOA_TEST_VIEW=1 go test -count=1 -v -run InChromium ./cmd/view

damage: deps ## flip every byte of a small store and cut its logs at every length, in processes of their own (minutes)
	$(ROCKS) STOA_TEST_EVERY_BYTE=1 go test -count=1 -timeout 60m -v -run 'DamageOfEveryByte' ./cmd/inspect

kv-kills: deps ## kill a process 200 times while it writes key-values, and recount what it leaves
	$(ROCKS) STOA_KV_KILLS=200 go test -count=1 -timeout 60m -run 'X05WhatAKilledProcess' ./kv

torture: deps ## try to make the daemon lose data: kills, power cuts, faults of the disk, full disks, little memory, defects, a clock that runs and jumps, hostile clients, damage (ARGS='-kills 5000 -cuts 5000'; STOA_TORTURE_SEED=n repeats)
	$(ROCKS) go test -count=1 -timeout 10h -v ./fuzz/torture -args -kills 500 -cuts 500 -every 1 -full 30 -tight 60 -hours 72 -idle 10000 $(ARGS)
	$(ROCKS) STOA_TEST_SCALE=10 go test -count=1 -timeout 60m -v -run 'TestKill' ./engine/rocks
	@$(MAKE) --no-print-directory damage

siege: deps ## attack the daemon as other users of the machine, beside one who means well (TIME=10m; ARGS='-only hostile-json -seed 7'; needs root)
	$(ROCKS) go test -count=1 -timeout 10h -v -run 'TestSiege$$' ./fuzz/siege -args -time $(TIME) $(ARGS)

torture-tikv: deps tikv ## kill stores, PD and daemons of a cluster in turns under load (half an hour; ARGS='-parts 500'; STOA_TORTURE_SEED=n repeats)
	$(ROCKS) bash .ci/tikv-cluster
	$(ROCKS) go test -count=1 -timeout 10h -v -run AClusterLoses ./fuzz/torture -args -parts 60 $(ARGS)

# `make lint` and `make test` have vetted everything; vet would go through all of it
# once more, since this is another build. What the scripts of cmd/stoa start is raced
# where it has goroutines: daemons, and what keeps on (cmd/stoa/plain_test.go).
race: deps ## run the tests of all that has goroutines under the race detector, with fewer generated cases
	$(ROCKS) STOA_TEST_SCALE=$(RACE_SCALE) go test -race -vet=off -timeout 60m $(TESTFLAGS) $$(bash .ci/raced)

mutants: deps ## change the code in small ways, one at a time, and print what no test notices (ARGS='-n 800 -seed 7 -packages dag,kv')
	$(ROCKS) STOA_TEST_SCALE=$${STOA_TEST_SCALE:-0.1} go run ./fuzz/mutants $(ARGS)

flaky: deps ## run the suite 10 times beside two busy loops, the quick packages with 1, 2 and 4 processors (ROUNDS=n)
	@$(ROCKS) ROUNDS='$(ROUNDS)' bash .ci/flaky

nocgo: ## build and vet without cgo: everything but engine/rocks; and test what is other there, with fewer generated cases
	CGO_ENABLED=0 go build ./...
	CGO_ENABLED=0 go vet ./...
	CGO_ENABLED=0 STOA_TEST_SCALE=$(NOCGO_SCALE) go test -vet=off -timeout 60m $(TESTFLAGS) $$(bash .ci/nocgo)

lint: deps $(STATICCHECK) $(DEADCODE) proto-lint proto-breaking ## gofmt, go vet, staticcheck, nothing that nobody reaches, go.mod tidy, generated code current
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')) && \
		{ [ -z "$$unformatted" ] || { printf 'not formatted, run gofmt -w on:\n%s\n' "$$unformatted"; exit 1; }; }
	$(ROCKS) go vet ./...
	$(ROCKS) $(STATICCHECK) ./...
	@$(ROCKS) bash .ci/deadcode $(DEADCODE)
	@$(ROCKS) bash .ci/linked
	go mod tidy -diff

fuzz: deps ## run every fuzz target for FUZZTIME each (default 1m; FUZZBLIND=1: ten times the executions, not guided by coverage)
	@$(ROCKS) FUZZTIME='$(FUZZTIME)' FUZZTOTAL='$(FUZZTOTAL)' FUZZBLIND='$(FUZZBLIND)' bash .ci/fuzz

bench: build bench-build ## run all benchmarks into bench/results: Stoa beside RocksDB, Redis and the peers; under 45 minutes
	bin/stoa bench --rows 200000 --workload $(ROWS),$(TYPED) --out bench/results/rows $(ARGS)
	bin/bench-peers -charts bench/results/rows
	bin/bench-peers -rows 100000 -rounds 3 -slice 2s -workload $(ROWS) -out bench/results/peers
	bin/bench-peers -rows 1000000 -workload $(KVS) -out bench/results/kv
	bin/bench-peers -rows 1000000 -workload $(BUCKETS) -out bench/results/buckets
	bin/stoa bench --rows 10000000 --workload $(POLICIES) --out bench/results/policies $(ARGS)
	bin/bench-peers -rows 100000 -slice 1s -workload $(AGENTS) -out bench/results/agents
	bin/stoa bench --rows 100000 --workload $(LAYERS) --out bench/results/layers $(ARGS)
	bin/bench-peers -charts bench/results/layers
	bin/stoa bench --rows 10000000 --rounds 1 --workload grow --out bench/results/grow $(ARGS)
	bin/bench-peers -charts bench/results/grow

bench-quick: build bench-build ## the same for a first look: fewer rows, short turns; under 5 minutes
	bin/stoa bench --quick --rounds 2 --workload $(ROWS),$(TYPED) --out bench/results/quick $(ARGS)
	bin/bench-peers -charts bench/results/quick
	bin/bench-peers -rows 20000 -rounds 2 -slice 200ms -workload $(ROWS) -out bench/results/quick-peers
	bin/bench-peers -rows 100000 -rounds 2 -slice 200ms -workload $(KVS) -out bench/results/quick-kv
	bin/bench-peers -rows 100000 -rounds 2 -slice 200ms -workload $(BUCKETS) -out bench/results/quick-buckets
	bin/stoa bench --quick --workload $(POLICIES) --out bench/results/quick-policies $(ARGS)
	bin/bench-peers -rows 20000 -rounds 2 -slice 200ms -workload $(AGENTS) -out bench/results/quick-agents
	bin/stoa bench --quick --workload $(LAYERS),grow --out bench/results/quick-layers $(ARGS)
	bin/bench-peers -charts bench/results/quick-layers

bench-soak: build ## an hour of reads, writes and scans in turns of 20 s, to see what changes with time
	bin/stoa bench --rows 1000000 --slice 20s --rounds 4 --workload get-64,batch-100,scan-all,put-synced-64 --out bench/results/soak $(ARGS)

bench-offline: deps ## measure inspect, verify, export and import of a store of 2 GiB, and of the database of a merod (STOA_BENCH_MB=n for another size)
	$(ROCKS) STOA_BENCH_MB=$${STOA_BENCH_MB:-2048} go test -run NONE -bench 'Offline|Merod' -benchtime 1x -timeout 60m ./cmd/inspect ./cmd/inspect/merod

bench-cold: bench-build ## measure rows beyond memory, beside Pebble and bbolt, as root: 10,000,000 rows, 10 GB of disk, under an hour (ARGS='-rows 1000000' for fewer)
	bin/bench-peers -cold -rows 10000000 $(ARGS)

bench-tries: deps ## measure commits of deltas beside cosmos/iavl and go-ethereum's trie, each on disk (ARGS='-keys 1000' for the flags)
	cd bench/peers/tries && $(ROCKS) go run . $(ARGS)

bench-peers: build bench-build ## measure Pebble, bbolt, badger, etcd, Redis and NATS beside Stoa (ARGS='-help' for the flags)
	bin/bench-peers $(ARGS)

bench-clients: build ## measure a get by the clients in other languages beside the Go client's (takes Python, Node.js and Rust)
	@bash .ci/clients bench
	$(ROCKS) go build -o bin/bench-clients ./bench/clients && bin/bench-clients $(ARGS)

bench-crdt: build ## measure the sync of Automerge and Yjs beside that of two nodes (takes Node.js 18 or later and npm)
	@command -v npm >/dev/null || { echo 'bench-crdt takes Node.js 18 or later, and npm: apt-get install nodejs npm'; exit 1; }
	mkdir -p bin/crdt && cp bench/crdt/* bin/crdt && cd bin/crdt && npm ci --ignore-scripts --no-audit --no-fund
	bin/stoa bench --rows 20000 --rounds 3 --workload sync-catchup,sync-differ --out bench/results/sync $(ARGS)
	cd bin/crdt && node --expose-gc main.mjs 20000 3

bench-decide: deps ## ask Open Policy Agent and cedar-go what kv/policy decides, of random worlds, and measure all three
	$(ROCKS) go -C bench/peers test -count=1 -timeout 60m -v $(TESTFLAGS) ./decide

natskv: deps ## run nats.go's tests of key-values on buckets, and 10,000 random sequences on both (2 min; STOA_NATSKV_SEED=n)
	$(ROCKS) go -C kv/bucket/natskv test -count=1 -timeout 60m -v $(TESTFLAGS) ./...

tikv: deps ## build bin/stoa-tikv, which serves a store on a cluster of TiKV too (cmd/stoa/tikv)
	$(ROCKS) cd cmd/stoa/tikv && go build -o ../../../bin/stoa-tikv .

tikv-cluster: deps ## build PD and Raft stores for tests into bin/tikv-cluster, and run a cluster of them on loopback (fuzz/cluster; ARGS='-stores 3 -dir DIR')
	$(ROCKS) bash .ci/tikv-cluster
	$(ROCKS) go build -o bin/tikv-cluster/run ./fuzz/cluster/run
	bin/tikv-cluster/run $(ARGS)

test-tikv: deps ## test engine/tikv and stoa-tikv on client-go's double of a cluster, or on the one that STOA_TIKV_PD names, and then what stands on an engine on it (TESTFLAGS; PACKAGES='github.com/stoadb/stoa/kv')
	@$(ROCKS) bash .ci/tikv $(TESTFLAGS) $(PACKAGES)

bench-before: deps ## measure what single improvements give: builds with and without each take turns (half an hour; ARGS='-only get-')
	$(ROCKS) go run ./bench/before $(ARGS)

bench-build: deps
	$(ROCKS) go -C bench/peers build $$(test -e /usr/include/lmdb.h && echo -tags lmdb) -o ../../bin/bench-peers .
	$(ROCKS) eval "$${CXX:-c++} -O2 -std=c++20 $${CGO_CFLAGS:-} -o bin/bench-loop bench/loop/loop.cc $${CGO_LDFLAGS:-} -lrocksdb -lpthread"
	@rm -f bin/bench-loop-system
	$(if $(ROCKSDB_PREFIX),@if [ -e /usr/include/rocksdb/db.h ]; then set -x; $${CXX:-c++} -O2 -std=c++20 -o bin/bench-loop-system bench/loop/loop.cc -lrocksdb -lpthread; \
		else echo 'bench-build: no RocksDB under /usr to put beside that of $(ROCKSDB_PREFIX): apt-get install librocksdb-dev'; fi)
	@rm -f bin/bench-loop-rust
	$(if $(ROCKSDB_PREFIX),,@if command -v cargo >/dev/null && ls /usr/lib/*/librocksdb.so >/dev/null && ls /usr/lib/llvm-*/lib/libclang*.so* >/dev/null; then set -x; \
		ROCKSDB_LIB_DIR=$$(dirname /usr/lib/*/librocksdb.so) ROCKSDB_INCLUDE_DIR=/usr/include cargo build -q --locked --release --manifest-path bench/loop/rust/Cargo.toml --target-dir bin/loop-rust && \
			cp bin/loop-rust/release/bench-loop-rust bin/ || echo 'bench-build: without the typed store in Rust: cargo could not build it'; \
		else echo 'bench-build: without the typed store in Rust: it takes cargo, and apt-get install librocksdb-dev libclang-dev'; fi)

demo: build ## run the sessions of README.md and of the pages that .ci/demo names against a daemon of their own
	@bash .ci/demo

smoke: demo ## the demo, and clients in other languages where those are installed
	$(ROCKS) go test -count=1 -v -run 'ClientTalksToTheDaemon$$' ./rpc/server

clients: build $(BUF) ## test the clients in other languages against a daemon (STOA_CLIENTS=all: fail where a language is not installed)
	@BUF=$(BUF) bash .ci/clients

# buf.gen.yaml writes two folders up, to the root when run in rpc/proto.
generate: $(BUF) ## write the Go code of rpc/proto to rpc/stoav1, and that of clients (takes npm and cargo)
	rm -f rpc/stoav1/*.pb.go
	cd rpc/proto && ../../$(BUF) generate
	BUF=$(BUF) bash .ci/clients generate

proto-lint: $(BUF) ## check the style of rpc/proto, and that rpc/stoav1 is generated from it
	$(BUF) lint rpc/proto
	@scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && mkdir -p "$$scratch/rpc/proto" && \
		(cd rpc/proto && ../../$(BUF) generate --output "$$scratch/rpc/proto") && \
		{ diff -ru rpc/stoav1 "$$scratch/rpc/stoav1" || { echo 'rpc/stoav1 is not what rpc/proto generates: run make generate'; exit 1; }; }

proto-breaking: $(BUF) ## refuse changes to rpc/proto that would break a client
	$(BUF) breaking rpc/proto --against rpc/proto/baseline.binpb

proto-baseline: $(BUF) ## at a release: make today's rpc/proto what clients rely on
	$(BUF) build rpc/proto -o rpc/proto/baseline.binpb

tools: $(STATICCHECK) $(BUF) $(DEADCODE) ## build the tools of lint and generate into bin/tools

portability: ## build and test in chroots of Debian and Ubuntu (as root; RELEASES='trixie noble', COMMAND='go test ./engine/rocks')
	@bash engine/rocks/compat/portability.sh $(if $(COMMAND),-c '$(COMMAND)') $(RELEASES)

clean: ## delete bin/ (stoa-data stays)
	rm -rf bin

# Tools are for the machine that builds and need no cgo.
$(STATICCHECK):
	GOBIN="$(CURDIR)/$(@D)" CGO_ENABLED=0 go install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION)
$(BUF):
	GOBIN="$(CURDIR)/$(@D)" CGO_ENABLED=0 go install github.com/bufbuild/buf/cmd/buf@$(BUF_VERSION)
$(NFPM):
	GOBIN="$(CURDIR)/$(@D)" CGO_ENABLED=0 go install github.com/goreleaser/nfpm/v2/cmd/nfpm@$(NFPM_VERSION)
$(DEADCODE):
	GOBIN="$(CURDIR)/$(@D)" CGO_ENABLED=0 go install golang.org/x/tools/cmd/deadcode@$(DEADCODE_VERSION)
