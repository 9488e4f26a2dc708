# Every target tells what it does: run `make` or `make help`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST_WORKERS ?= 3
RUN_DATA ?= ./rulewood-data

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev demo serve test check format bench soak lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1|/' | column -t -s '|'

$(VENV)/runtime.stamp: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/dev.stamp: $(VENV)/runtime.stamp requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	@touch $@

setup: $(VENV)/runtime.stamp ## make .venv with what the service needs

setup-dev: $(VENV)/dev.stamp ## add what tests, checks and benchmarks need

demo: setup ## start a service, train, cross-validate and explain a tree on real data over HTTP
	$(BIN)/rulewood demo

serve: setup ## serve on http://127.0.0.1:8000 with data in ./rulewood-data
	$(BIN)/rulewood serve --data $(RUN_DATA)

test: setup-dev ## run the whole test suite on SQLite and a real PostgreSQL
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal

check: setup-dev ## lint, formatting, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup-dev ## format the code and mend what the linter can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup-dev ## run the benchmarks side by side with their peers (long; see benchmarks/README.md)
	$(BIN)/python benchmarks/trees.py
	$(BIN)/python benchmarks/first_training.py
	$(BIN)/python benchmarks/formats.py
	$(BIN)/python benchmarks/serving.py
	$(BIN)/python benchmarks/large.py
	$(BIN)/python benchmarks/large_trees.py
	$(BIN)/python benchmarks/linear.py
	$(BIN)/python benchmarks/cascade.py
	$(BIN)/python benchmarks/neighbors.py
	$(BIN)/python benchmarks/neighbors_serving.py
	$(BIN)/python benchmarks/networks.py
	$(BIN)/python benchmarks/neural_growing.py
	$(BIN)/python benchmarks/neural_pruning.py
	$(BIN)/python benchmarks/ensembles.py
	$(BIN)/python benchmarks/published_trees.py
	$(BIN)/python benchmarks/published_splits.py
	$(BIN)/python benchmarks/model_trees.py
	$(BIN)/python benchmarks/rules.py
	$(BIN)/python benchmarks/published_ensembles.py
	$(BIN)/python benchmarks/evaluation.py
	$(BIN)/python benchmarks/recurrent.py

soak: setup-dev ## kill, fuzz and load studies (long)
	$(BIN)/python benchmarks/chaos.py
	$(BIN)/python benchmarks/fuzz.py
	$(BIN)/python benchmarks/soak.py
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --hypothesis-profile=search tests/learners

lock: ## pin the versions of the current environment's resolution into the lock files
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --strip-extras --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-annotate --output-file requirements.lock pyproject.toml
	$(BIN)/pip-compile --quiet --strip-extras --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-annotate --extra dev --constraint requirements.lock --output-file requirements-dev.lock pyproject.toml

clean: ## remove the environment and what tools left behind
	rm -rf $(VENV) .kernels .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
