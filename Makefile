# Everything from python3, pip and make. `make` lists the targets.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3

.DEFAULT_GOAL := help
.PHONY: help setup check format test test-fast dev demo bench bench-peers bench-core house lock docs clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(VENV)/.ready ## create .venv with the locked dependencies

$(VENV)/.ready: requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@test -x $(BIN)/uv || $(BIN)/pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes --compile-bytecode requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

check: setup ## lint, format, types, import contracts, spelling, generated pages
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/typos
	$(BIN)/python tools/docs.py --check

format: setup ## let ruff rewrite what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

test: setup ## every test
	$(BIN)/pytest

test-fast: setup ## the tests that take no seconds of their own
	$(BIN)/pytest -m "not slow"

dev: setup ## the whole product on this machine, until Ctrl-C
	@$(BIN)/riven dev

demo: setup ## start the product, run an example on it over HTTP, stop it
	@$(BIN)/python tools/demo.py

bench: setup ## measure riven beside its peers: QUICK=1 ONLY=W1,W4 PEERS=riven,dbos ENGINE=temporal RECORD=1 W9=1000000
	@$(BIN)/python -m bench $(if $(ENGINE),--engine $(ENGINE)) $(if $(W9),--admissions $(W9)) $(if $(QUICK),--size quick) $(if $(ONLY),--only $(ONLY)) $(if $(PEERS),--peers $(PEERS)) $(if $(RECORD),--record)

bench-peers: setup ## install the peers of `make bench` where BENCH_VENVS says
	@$(BIN)/python -m bench.install

bench-core: setup ## measure coordinator, validation, run and start-up, with goals
	$(BIN)/python bench/bench_core.py

docs: setup ## write the generated parts of the documentation anew
	$(BIN)/python tools/docs.py

house: setup ## print the figures of the house: sizes, cycles, who imports whom
	@$(BIN)/python tools/house.py src/riven

lock: setup ## write requirements.lock anew from pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --group dev --extra embedded pyproject.toml --output-file requirements.lock

clean: ## remove what setup and the tools made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
