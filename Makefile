# make demo   builds, answers the main scenario and writes its HTML report
# make test   builds everything with warnings as errors and runs every test; ends with how many cases passed, failed and were skipped
# make check  holds sources against .clang-format and .clang-tidy (make style), and compiles each by itself (make alone)
# make sanitize   runs the quick suites under AddressSanitizer and UndefinedBehaviorSanitizer; SUITES=all: every suite; SUITES="pcg cli": some
# make fuzz   runs each of libFuzzer's targets for SECONDS (60) and prints how many inputs it read; TARGETS: some of them
# make mutants   changes the sources in over a hundred places, one at a time, and prints what no test notices; ONLY: some areas or mutants
# make metamorphic   checks relations between answers on DRAWS (50) scenarios of each of SEEDS (1-8), EACH (8) of those between answers; ONLY: some
# make build  builds the program, build/foreshard
# make package   makes build/foreshard_VERSION_ARCHITECTURE.deb
# make wheel   makes build/foreshard-VERSION-...whl: the Python package with the program, and installs it somewhere to try it
# make docs   renews what README and tutorial show of the program, and the schemas of docs/schemas; tests compare
# make page   builds the page of HTML reports (reports/html/built_page.html) anew, with npm
# make rules   generates and proves the substitutions that ship (search/rules/rule_files/builtin_rules.txt) anew
# make accuracy   holds forecasts against public tables (DATA), renews intervals and docs/accuracy.md
#
# Each works as the first command on a fresh Debian 12 or 13: missing packages are installed, or the command to do it is printed.

PACKAGES := g++ cmake ninja-build pkg-config libsimgrid-dev libboost-dev libz3-dev libyaml-cpp-dev libcli11-dev libfmt-dev nlohmann-json3-dev libeigen3-dev libnlopt-cxx-dev libpugixml-dev libboost-iostreams-dev libutfcpp-dev libmimalloc-dev libsqlite3-dev libprotobuf-dev protobuf-compiler libonnx-dev
# Sweeps over many machines; a build without them leaves these out (cmake -DFORESHARD_MPI=OFF).
MPI_PACKAGES := libopenmpi-dev openmpi-bin
TEST_PACKAGES := git doctest-dev librapidcheck-dev coinor-libcbc-dev chromium
# To build the page of HTML reports anew. An npm that is there need not be Debian's, beside which Debian's cannot be installed.
PAGE_PACKAGES := $(shell command -v npm >/dev/null 2>&1 || echo nodejs npm)
FUZZ_PACKAGES := clang-16 libclang-rt-16-dev
CHECK_PACKAGES := git clang-16 clang-format-16 clang-tidy-16

SCENARIO ?= scenarios/summit-bert-large.yaml
JOBS ?= $(shell nproc)
SECONDS ?= 60
SUITES ?= quick
DATA ?= ../shared/data/measured
COLLECTIVES := aiconfigurator_nccl_intranode vtrain_nccl_allreduce_a100_v100 nccl_tests_public_tables vidur_network_profiles ml_engineering_allreduce multinode_h100_gb200
STEPS := profiles/tables/h200/steps.csv profiles/tables/h100/steps.csv
SEEDS ?= 1-8
DRAWS ?= 50
EACH ?= 8

space := $(subst ,, )

.DEFAULT_GOAL := build
.PHONY: accuracy alone build check clean demo docs fuzz metamorphic mutants package page rules sanitize style test wheel

build:
	@cmake/require_packages.sh $(PACKAGES) $(MPI_PACKAGES)
	cmake --preset release
	cmake --build build -j $(JOBS)

demo: build
	build/foreshard run $(SCENARIO) --report build/report.html
	@printf '\nHTML report, for any browser: %s\n' $(CURDIR)/build/report.html

test:
	@cmake/require_packages.sh $(PACKAGES) $(MPI_PACKAGES) $(TEST_PACKAGES)
	cmake --preset test
	cmake --build build-test -j $(JOBS)
	@tests/run.sh build-test $(JOBS)

check: style alone

style:
	@cmake/require_packages.sh $(PACKAGES) $(MPI_PACKAGES) $(TEST_PACKAGES) $(CHECK_PACKAGES)
	cmake/check_format.sh
	cmake --preset test
	cmake --build build-test -j $(JOBS) --target chakra_schema
	cmake/check_tidy.sh build-test $(JOBS)

alone:
	@cmake/require_packages.sh $(PACKAGES) $(MPI_PACKAGES) $(TEST_PACKAGES) $(CHECK_PACKAGES)
	cmake/check_alone.sh $(JOBS)

sanitize:
	@cmake/require_packages.sh $(PACKAGES) $(MPI_PACKAGES) $(TEST_PACKAGES)
	cmake --preset asan
	cmake --build build-asan -j $(JOBS) --target $(if $(filter all,$(SUITES)),all,$(patsubst quick_test,quick_tests,$(SUITES:%=%_test)))
	ctest --test-dir build-asan $(if $(filter all,$(SUITES)),,-L '^($(subst $(space),|,$(strip $(SUITES))))$$') -j $(JOBS) --output-on-failure

fuzz:
	@cmake/require_packages.sh $(PACKAGES) $(MPI_PACKAGES) $(TEST_PACKAGES) $(FUZZ_PACKAGES)
	cmake --preset fuzz
	cmake --build build-fuzz -j $(JOBS) --target fuzz_programs
	tests/fuzz/fuzz.sh build-fuzz $(SECONDS) $(TARGETS)

# In build-mutants; without a change of the sources a second run builds nothing.
mutants:
	@cmake/require_packages.sh python3 $(PACKAGES) $(MPI_PACKAGES) $(TEST_PACKAGES)
	tools/mutants/mutants.py --jobs $(JOBS) $(if $(ONLY),--only $(ONLY))

# What is violated is shrunk to small scenarios in build/metamorphic; without EACH=0 a scenario tries some relations, drawn as it is.
metamorphic: build
	@cmake/require_packages.sh python3
	python3 -B tests/metamorphic/metamorphic.py --exe build/foreshard --seed $(SEEDS) --draws $(DRAWS) --each $(EACH) --jobs $(JOBS) --out build/metamorphic $(if $(ONLY),--only $(ONLY))

# Tables of iterations only: their residuals make the intervals, which the second run then carries.
accuracy: build
	rm -rf build/accuracy && python3 tools/converters/points_from_tables.py $(DATA) build/accuracy
	cp tools/converters/points/*.csv build/accuracy
	build/foreshard validate build/accuracy/*.csv --jobs $(JOBS) --quiet --write-intervals scenarios/intervals/iterations.yaml
	cmake --build build -j $(JOBS)
	python3 tools/converters/measurements_from_tables.py build/accuracy/collectives $(COLLECTIVES:%=$(DATA)/collectives/%.csv)
	build/foreshard validate build/accuracy/*.csv $(COLLECTIVES:%=build/accuracy/collectives/%.csv) $(STEPS) --jobs $(JOBS) --report build/accuracy/report.html --json build/accuracy/result.json
	tools/docs/accuracy_tables.py build/accuracy/result.json docs/accuracy.md

docs: build
	tools/docs/shown_outputs.py build/foreshard README.md docs/tutorial.md
	cmake --preset test
	cmake --build build-test -j $(JOBS) --target docs_test
	UPDATE_GOLDEN=1 build-test/docs_test -tc='committed schemas*'

page:
	@cmake/require_packages.sh $(PAGE_PACKAGES)
	reports/html/page/build.sh build/page
	cp build/page/dist/index.html reports/html/built_page.html

package: build
	@cmake/require_packages.sh dpkg-dev file
	cd build && cpack

wheel: build
	@cmake/require_packages.sh python3 binutils
	python3 tools/python/make_wheel.py build/foreshard build

# After a change of axioms, families or the generator; a test compares.
rules: build
	cmake --preset test
	cmake --build build-test -j $(JOBS) --target rules_test
	build-test/rules_test -tc='Every axiom*' --no-skip
	UPDATE_GOLDEN=1 build-test/rules_test -tc='the built-in rules are those*'
	cmake --build build -j $(JOBS)

clean:
	rm -rf build build-*
