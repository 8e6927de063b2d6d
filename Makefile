# The only list of commands. Needs cargo and Python 3.11 or newer with pip; everything else is installed into .venv.

PYTHON ?= python3
CARGO ?= cargo

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check
BENCH_VENV := .venv-bench
BENCH_PY := $(BENCH_VENV)/bin/python

# maturin installs into the environment it is told of; one that happens to be active must not interfere.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
unexport CONDA_PREFIX PYTHONHOME PYTHONPATH

RUST_SOURCES := Cargo.toml $(wildcard Cargo.lock) $(shell find src -name '*.rs' 2>/dev/null)
PYTHON_SOURCES := pyproject.toml README.md LICENSE $(shell find python -name '*.py' -o -name '*.pyi' -o -name py.typed 2>/dev/null)

# Stamps live in what they describe: deleting an environment deletes what is known about it.
MADE := $(VENV)/.made
TOOLS := $(VENV)/.tools
DEV := $(VENV)/.dev
DEVELOPED := $(VENV)/.developed
WHEEL := target/wheels/.built
DEMO := $(VENV)/.wheel-installed
BENCH := $(BENCH_VENV)/.ready

# Requirements straight from pyproject.toml, so that they are written in one place. Arguments: names of groups.
REQUIREMENTS = $(PY) -c 'import sys, tomllib; p = tomllib.load(open("pyproject.toml", "rb")); \
	print(*p["project"]["dependencies"], *(r for g in sys.argv[1:] for r in p["dependency-groups"][g]), sep="\n")'

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install build build-release format lint lint-rust lint-python typecheck stubs test test-rust \
	test-python doctest demo bench bench-python bench-solvers docs clean all

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

install: $(DEV) ## make .venv with all that development needs

build: $(DEVELOPED) ## build the package in place, optimised but quick to link

build-release: $(WHEEL) ## build the release wheel into target/wheels

format: $(DEV) ## format all code
	$(CARGO) fmt
	$(PY) -m ruff check --fix --quiet .
	$(PY) -m ruff format --quiet .

lint: lint-rust lint-python ## check formats, lints, types and the stub

lint-rust: $(MADE) ## rustfmt, clippy without and with the bindings, rustdoc
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets -- -D warnings
	PYO3_PYTHON=$(CURDIR)/$(PY) $(CARGO) clippy --all-targets --features python -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --quiet

lint-python: $(DEV) ## ruff, mypy, stubtest
	$(PY) -m ruff check --quiet .
	$(PY) -m ruff format --check --quiet .
	@$(MAKE) --no-print-directory typecheck stubs

typecheck: $(DEV) ## mypy in strict mode on the package
	$(PY) -m mypy

stubs: $(DEVELOPED) ## compare the stub with the compiled module
	$(PY) -m mypy.stubtest exactsvm._core

test: test-rust test-python ## all tests

test-rust: ## tests of the core, documentation tests included
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
		echo "$(CARGO) nextest run" && $(CARGO) nextest run; \
	else \
		echo "$(CARGO) test --lib --tests" && $(CARGO) test --quiet --lib --tests; \
	fi
	$(CARGO) test --quiet --doc

test-python: $(DEVELOPED) ## tests of the package
	$(PY) -m pytest -q

doctest: $(DEVELOPED) ## examples in the package's documentation only
	$(PY) -m pytest -q tests/python/test_docs.py

demo: $(DEMO) ## train on a real data set with the release wheel, next to scikit-learn
	$(PY) examples/demo.py

bench: ## benchmarks of the core
	$(CARGO) bench

bench-python: $(BENCH) ## against scikit-learn and scikit-learn-intelex; options in ARGS="..."
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE -u VIRTUAL_ENV $(BENCH_PY) benches/python/compare.py $(ARGS)

bench-solvers: $(BENCH) ## our solvers against one another; options in ARGS="..."
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE -u VIRTUAL_ENV $(BENCH_PY) benches/python/solvers.py $(ARGS)

docs: ## reference of the Rust core into target/doc
	$(CARGO) doc --no-deps

clean: ## remove everything that was built, the environments too
	$(CARGO) clean
	rm -rf $(VENV) $(BENCH_VENV) .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -f python/exactsvm/_core*.so

all: format lint build typecheck test ## what to run before a commit

# ---- environments and builds

$(MADE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "exactsvm needs Python 3.11 or newer; name one with make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# maturin alone is enough for a wheel; the pin is the one of the build system.
$(TOOLS): $(MADE)
	$(PIP) install --quiet 'maturin>=1.9.4,<2'
	@touch $@

$(DEV): pyproject.toml | $(TOOLS)
	$(REQUIREMENTS) development > $(VENV)/requirements.txt
	$(PIP) install --quiet --requirement $(VENV)/requirements.txt
	@touch $@

# In the environment is either the package in place or the wheel: each of the two takes the other's stamp away.
$(DEVELOPED): $(RUST_SOURCES) pyproject.toml $(DEV)
	@rm -f $(DEMO)
	$(VENV)/bin/maturin develop --quiet --profile dev-release
	@touch $@

$(WHEEL): $(RUST_SOURCES) $(PYTHON_SOURCES) | $(TOOLS)
	@rm -f target/wheels/exactsvm-*.whl
	$(VENV)/bin/maturin build --quiet --release --interpreter $(PY)
	@touch $@

$(DEMO): $(WHEEL)
	@rm -f $(DEVELOPED)
	$(PIP) install --quiet --force-reinstall --no-deps target/wheels/exactsvm-*.whl
	$(PIP) install --quiet target/wheels/exactsvm-*.whl
	@touch $@

$(BENCH): $(WHEEL) pyproject.toml
	$(PYTHON) -m venv $(BENCH_VENV)
	$(REQUIREMENTS) bench > $(BENCH_VENV)/requirements.txt
	$(BENCH_PY) -m pip install --quiet --requirement $(BENCH_VENV)/requirements.txt
	$(BENCH_PY) -m pip install --quiet --force-reinstall --no-deps target/wheels/exactsvm-*.whl
	@touch $@
