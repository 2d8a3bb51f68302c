# Two commands do everything: `make demo` shows the product, `make test` checks it.
PYTHON ?= python3
BIN := .venv/bin
# one more than there are processors: the tests wait for a quarter of their time
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

.PHONY: demo setup test lint servers bench docs clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

.venv/made: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade --constraint constraints.txt pip
	touch $@

.venv/demo: .venv/made
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[demo]'
	$(BIN)/python -m compileall -q src
	touch $@

.venv/test: .venv/made
	$(BIN)/pip install --quiet --constraint constraints.txt --editable . --group test
	$(BIN)/pip install --quiet --constraint constraints.txt --no-deps diskannpy  # pins an old NumPy, works with the new
	$(BIN)/python -m compileall -q src
	touch $@

.venv/bench: .venv/test
	$(BIN)/pip install --quiet --constraint constraints.txt --group bench
	touch $@

demo: .venv/demo ## score, compare, explain, gate and A/B-test two searches of a help centre
	$(BIN)/assay demo

setup: .venv/test ## install what the tests need

lint: .venv/test ## style, types and the order of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

servers:  # the tests install it if it is missing; here it is installed while types are checked
	-scripts/milvus.sh install

test: ## run every check and every test
	$(MAKE) --jobs 2 lint servers
	$(BIN)/python scripts/reference.py --check
	$(BIN)/pytest --durations=25 --numprocesses $(WORKERS) --maxprocesses 4 --dist loadgroup --no-loadscope-reorder

bench: .venv/bench ## compare the speed with other tools: the tables of docs/benchmarks.md
	$(BIN)/python benchmarks/measures.py
	$(BIN)/python benchmarks/inference.py
	$(BIN)/python benchmarks/store.py

docs: .venv/test ## write the reference pages, the output of commands and the pictures from the code
	$(BIN)/python scripts/reference.py
	$(BIN)/python -m tests.docs.console
	$(BIN)/python scripts/picture.py
	$(BIN)/python -m tests.docs.dashboard

clean: ## delete what was installed and built
	rm -rf .venv .venv-milvus .venv-milvus.lock .mypy_cache .ruff_cache .pytest_cache .hypothesis
