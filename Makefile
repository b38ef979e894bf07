# make demo : set up .venv and run the demo             make test : lint, types, tests, doctests
# make lint | bench | papers | lock | clean            Needs Python >= 3.11 and the package index.
# make invariants : what does not change a model       make oldest, make other-machines : see CONTRIBUTING.md
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# The real data sets are not part of the project; they are read from this folder if it exists.
ifneq ($(wildcard ../shared/data),)
export SCARCE_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test lint invariants oldest other-machines bench papers lock clean

demo: .venv/installed-demo
	@$(BIN)/scarce demo --out demo

test: .venv/installed-dev lint
	@$(BIN)/python -m pytest -q -n 2

lint: .venv/installed-dev
	@$(BIN)/ruff format --check --quiet . || { echo "Run: $(BIN)/ruff format ."; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary

# Every estimator under every change without information; ARGS=--write updates docs/invariants.md.
invariants: .venv/installed-dev
	@$(BIN)/python -m tests.properties.invariants $(ARGS)

# The tests with the oldest versions that pyproject.toml allows, in a separate environment.
oldest:
	@$(PYTHON) scripts/oldest.py -q -n 2 $(ARGS)

# The tests with the arithmetic of other processors.
other-machines: .venv/installed-dev
	@scripts/other_machines.sh -q -n 2 $(ARGS)

bench: .venv/installed-dev
	@$(BIN)/python -m benchmarks.run

papers: .venv/installed-dev
	@$(BIN)/python -m experiments.run

# Update constraints.txt with the versions that pip resolves today.
lock:
	@$(PYTHON) scripts/lock.py

clean:
	rm -rf .venv .venv-oldest demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "scarce needs Python >= 3.11; $$($(PYTHON) --version) was found. Run: make PYTHON=python3.11 ..."; exit 1; }
	@echo "Setting up .venv (once; at most a few minutes) ..."
	@$(PYTHON) -m venv .venv
	@$(INSTALL) pip

.venv/installed-demo: .venv/bin/python pyproject.toml constraints.txt
	@echo "Installing scarce ..."
	@$(INSTALL) -e '.[plot]'
	@touch $@

.venv/installed-dev: .venv/installed-demo
	@echo "Installing test dependencies ..."
	@$(INSTALL) -e '.[plot,dask,skops]' --group dev
	@touch $@
