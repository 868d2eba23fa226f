# The front doors. Everything is built in build/<preset> (CMakePresets.json); ccache is used when it is there.
#   make demo      install what is missing, build, show what MONET does
#   make test      install what is missing, build, run every test that fits in CI (.ci/run calls exactly this)
#   make test-all  that, and the long ones: full oracle runs, fuzzing (FUZZ_SECONDS each), peers, the benchmark
SHELL := /bin/bash
CORES := $(shell nproc 2>/dev/null || echo 2)
FUZZ_SECONDS ?= 600
# More schedules of Stream's for `make bench`: files of the format that docs/stream.md has.
STREAM_SCHEDULES ?=
# A failed test shows its output; skipped ones are named in the summary; one that hangs is ended (long ones say their own time).
CTEST := ctest --output-on-failure --no-tests=error --timeout 900 -j$(CORES)
# Who only wants the product needs none of the test libraries; a folder configured with tests keeps them.
WITHOUT_TESTS = $(if $(wildcard build/release/CMakeCache.txt),,-DMONET_TESTS=OFF)
SOURCES = $(shell find src tests bench -name '*.h' -o -name '*.cpp' 2>/dev/null)

.PHONY: help demo build test test-release test-asan test-units test-all test-long setup setup-test setup-peers bench bench-peers fuzz format clean
.NOTPARALLEL:

help:
	@echo "make demo      installs what is missing, builds, runs monet demo"
	@echo "make build     installs what is missing, builds build/release/monet"
	@echo "make test      installs what is missing, builds, runs the tests that fit in CI"
	@echo "make test-all  adds the long tests: full oracle runs, fuzzing, the benchmark"
	@echo "make bench     times the verbs and schedulers     make bench-peers  against ZigZag and AccelForge     make fuzz  fuzzes each reader for FUZZ_SECONDS ($(FUZZ_SECONDS))"
	@echo "make format    formats the C++     make clean removes build/ and out/"

demo: build
	@echo "== demo: build/release/monet demo"
	@build/release/monet demo

build: setup
	@echo "== build: build/release/monet"
	@cmake --preset release $(WITHOUT_TESTS) >build/configure.log || { cat build/configure.log; exit 1; }
	@cmake --build --preset release --target monet

test: test-release test-asan

test-release: setup-test
	@echo "== build: release, with tests"
	@cmake --preset release -DMONET_TESTS=ON >build/configure.log || { cat build/configure.log; exit 1; }
	@cmake --build --preset release --target other_tests
	@echo "== test: everything but unit tests, which run with sanitizers, and long ones"
	@$(CTEST) --test-dir build/release -LE '^long$$|^unit_' -E '_NOT_BUILT$$'

# After the release tests, not beside them: both use all cores. Explanations search mappings again and again: cli.explain and
# test-units run them without sanitizers.
test-asan: test-release
	@echo "== build: unit tests with address and undefined-behaviour sanitizers"
	@cmake --preset asan -DMONET_TESTS=ON >build/configure.log || { cat build/configure.log; exit 1; }
	@cmake --build --preset asan --target unit_tests
	@echo "== test: unit tests with sanitizers"
	@$(CTEST) --test-dir build/asan -L '^unit_' -E '^Explain(Levers|Together)?\.'

test-all: test test-units test-long fuzz bench bench-peers

test-units: test-release
	@echo "== test: unit tests without sanitizers"
	@cmake --build --preset release --target unit_tests
	@$(CTEST) --test-dir build/release -L '^unit_'

test-long: test-release setup-peers
	@echo "== test: the long tests"
	@$(CTEST) --timeout 3600 --test-dir build/release -L '^long$$' --no-tests=ignore

setup:
	@echo "== setup: packages to build with"
	@mkdir -p build
	@tools/setup.sh build

setup-test:
	@echo "== setup: packages to build and test with, oracles in build/oracles"
	@mkdir -p build
	@tools/setup.sh test
	@tools/oracles.sh

setup-peers:
	@echo "== setup: peers to compare with, in build/peers…"
	@tools/peers.sh

fuzz: setup-test
	@echo "== fuzz: every target for $(FUZZ_SECONDS) s"
	@tools/fuzz.sh $(FUZZ_SECONDS)

bench: build
	@echo "== bench: wall time and memory of the verbs"
	@/usr/bin/python3 bench/verbs.py build/release/monet
	@cmake --build --preset release --target schedule_bench stream_bench evaluate_bench checkpoint_bench
	@echo "== bench: Stream's scheduler, and what Stream takes"
	@build/release/bench/stream_bench data/validation/stream_*.json.gz $(STREAM_SCHEDULES)
	@echo "== bench: our scheduler from 10^3 to 10^6 tiles"
	@build/release/bench/schedule_bench
	@echo "== bench: whole evaluations, part by part"
	@build/release/bench/evaluate_bench
	@echo "== bench: decisions on saved activations, two threads"
	@build/release/bench/checkpoint_bench
	@echo "== bench: explore, blocks of MONET's spaces"
	@/usr/bin/python3 bench/explore_rate.py build/release/monet
	@echo "== bench: explore on threads and on ranks"
	@if command -v mpirun >/dev/null; then /usr/bin/python3 bench/explore_ranks.py build/release/monet; else echo "skipped: no mpirun"; fi

# ZigZag takes a few minutes. Each half is left out by name where its peer is out of reach.
bench-peers: build setup-peers
	@echo "== bench: ZigZag and monet on the same searches"
	@if [ -x build/peers/bin/python ]; then build/peers/bin/python bench/peers/against_zigzag.py --monet build/release/monet --brief; \
	 else echo "skipped: ZigZag"; fi
	@echo "== bench: AccelForge's best mappings and monet's"
	@if [ -x build/peers_accelforge/bin/python ]; then \
	 build/peers_accelforge/bin/python bench/peers/accelforge_cases.py --out build/accelforge.json && \
	 /usr/bin/python3 bench/peers/against_accelforge.py --cases build/accelforge.json --monet build/release/monet; \
	 else echo "skipped: AccelForge"; fi

format:
	@echo "== format: clang-format-14 over src, tests, bench"
	@clang-format-14 -i $(SOURCES)

clean:
	@echo "== clean: build/ and out/"
	@rm -rf build out
