# Everything a person does here, in a word each. `make run` and `make test` need nothing installed before.
.PHONY: help run test build dev deps check-all asan tsan soak chaos fuzz bench vs-etcd format clean
.DEFAULT_GOAL := help
JOBS := $(shell nproc)
QUIET := scripts/quietly.sh

help:
	@echo "make run      install what is missing, build, and run every algorithm between real processes"
	@echo "make test     the same, then every test"
	@echo "make check-all explore every interleaving of every algorithm's standard configuration"
	@echo "make build    only the program: build/release/conclave"
	@echo "make asan     every test but the twins under AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make tsan     the tests with threads under ThreadSanitizer"
	@echo "make soak     10,000 seeds per algorithm with all faults that it allows, 100,000 of Raft, and more"
	@echo "make chaos    Raft clusters of real processes under faults and attacks, judged by what their clients were told"
	@echo "make fuzz     what comes from outside under libFuzzer, two minutes each; FAST=1 RUNS_EACH=100000000: a night"
	@echo "make bench    simulator, elections, locks, links and the checker against peers and limits, in one run"
	@echo "make vs-etcd  three members beside three of etcd's under the same load, five rounds of each case (an hour)"
	@echo "make format   clang-format over the sources"

run: build
	@build/release/conclave tour

deps:
	@scripts/deps.sh build

build: deps
	@$(QUIET) "Configuring" cmake --preset release
	@$(QUIET) "Building the program" cmake --build build/release --target conclave -j $(JOBS)

dev: deps
	@$(QUIET) "Configuring the debug build" cmake --preset dev
	@$(QUIET) "Building the debug program" cmake --build build/dev --target conclave -j $(JOBS)

test: build
	@scripts/deps.sh test
	@$(QUIET) "Configuring the tests" cmake --preset release
	@$(QUIET) "Building the tests" cmake --build build/release -j $(JOBS)
	@echo "Running the tests"
	@ctest --test-dir build/release --output-on-failure -j $(JOBS) --progress

# The quick ones are in the tests; the long ones take minutes.
check-all: build
	@scripts/deps.sh test
	@$(QUIET) "Configuring the tests" cmake --preset release
	@build/release/conclave check --all --long --workers $(JOBS)
	@$(QUIET) "Building the tests" cmake --build build/release --target unit_tests -j $(JOBS)
	@CONCLAVE_LONG=1 build/release/unit_tests --gtest_brief=1 --gtest_filter='*Explored*:*Verdicts*'

asan:
	@scripts/deps.sh test
	@$(QUIET) "Configuring for AddressSanitizer" cmake --preset asan
	@$(QUIET) "Building for AddressSanitizer" cmake --build build/asan -j $(JOBS)
	@ctest --test-dir build/asan --output-on-failure -j $(JOBS) --progress -LE heavy

# What runs threads: --seeds, --workers, the locks over registers, links, servers and their clients, the client library,
# the Raft server. The preset does without -Wmaybe-uninitialized: with the sanitizer's calls in between, g++ 12 believes
# that moving a std::variant (in src/kv/read.cpp) touches alternatives that it does not hold.
tsan:
	@scripts/deps.sh test
	@$(QUIET) "Configuring for ThreadSanitizer" cmake --preset tsan
	@$(QUIET) "Building for ThreadSanitizer" cmake --build build/tsan --target register_mutex seeds_in_threads explore_in_threads link_faults load_tests rpc_tests client_tests storage_tests server_tests -j $(JOBS)
	@ctest --test-dir build/tsan --output-on-failure -j $(JOBS) --progress -L sanitized_threads

soak: build
	@scripts/soak.sh

# docs/chaos.md. SEED=7 repeats a schedule of faults.
CHAOS = tests/chaos/chaos.py build/release/conclave build/release/contender build/release/link_proxy build/release/chaos_load \
	build/release/chaos_keepers build/release/tests/libbad_disk.so build/release/tests/libclock_step.so
chaos: build
	@scripts/deps.sh test
	@$(QUIET) "Configuring the tests" cmake --preset release
	@$(QUIET) "Building the clients" cmake --build build/release --target contender link_proxy chaos_load chaos_keepers chaos_server bad_disk clock_step -j $(JOBS)
	@$(CHAOS) --members 3 --seconds 240 $(if $(SEED),--seed $(SEED))
	@$(CHAOS) --members 5 --seconds 240 $(if $(SEED),--seed $(SEED))
	@tests/chaos/restarts.py build/release/conclave build/release/tests/libclock_step.so --restarts 1000 $(if $(SEED),--seed $(SEED))
	@tests/chaos/hostile.py build/release/conclave
	@$(CHAOS) --prove $(if $(SEED),--seed $(SEED))
	@tests/chaos/prove.py build/release/chaos_server $(wordlist 3,8,$(CHAOS))

# With FAST most inputs run without sanitizers, and whatever reached something new runs again with them: scripts/fuzz.sh.
fuzz:
	@scripts/deps.sh fuzz
	@$(QUIET) "Configuring for fuzzing" cmake --preset fuzz
	@$(QUIET) "Building the fuzzers" cmake --build build/fuzz -j $(JOBS)
ifdef FAST
	@$(QUIET) "Configuring for fast fuzzing" cmake --preset fuzz-fast
	@$(QUIET) "Building the fast fuzzers" cmake --build build/fuzz-fast -j $(JOBS)
endif
	@scripts/fuzz.sh

bench: build
	@scripts/deps.sh bench
	@$(QUIET) "Configuring the benchmarks" cmake --preset bench
	@$(QUIET) "Building the benchmarks" cmake --build build/bench --target sim_bench election_bench register_bench link_bench storage_bench rpc_bench kv_bench -j $(JOBS)
	@build/bench/sim_bench
	@build/bench/election_bench
	@build/bench/register_bench
	@build/bench/link_bench
	@build/bench/storage_bench
	@build/bench/kv_bench
	@build/bench/rpc_bench
	@bench/checker.py

# One case alone: bench/vs-etcd --only 'put, 64'. QUICK=1 only looks whether it works.
vs-etcd: build
	@scripts/deps.sh bench
	@bench/vs-etcd $(if $(QUICK),--quick) --out build/vs-etcd.md --json build/vs-etcd.json

format:
	@clang-format -i $$(git ls-files '*.hpp' '*.cpp')

clean:
	@rm -rf build
