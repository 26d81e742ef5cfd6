# Everything a person types. `make demo` and `make test` set up what is missing; nothing else is needed first.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
OLDEST_PYTHON := 3.11
# Debian 12's own is 23.0.1.
OLDEST_PIP := 23.0
PYTHON ?= $(shell for candidate in python3.11 python3.12 python3.13 python3; do \
	if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then command -v "$$candidate"; break; fi; done)

# Test processes. Each has a platform of its own in the end-to-end tests, about 650 MB.
TEST_PROCESSES ?= 2

# Schemathesis takes two seconds of each test process to import as pytest's plugin, and only the end-to-end tests use it.
WITHOUT_FUZZING := -p no:schemathesis

# For targets that run others at once; each one's output is shown whole when it ends.
SIDE_BY_SIDE := --jobs=2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

PIP := $(BIN)/python -m pip --disable-pip-version-check
LOCK := $(BIN)/uv pip compile pyproject.toml --universal --python-version $(OLDEST_PYTHON) --generate-hashes \
	--no-emit-index-url --no-emit-package analytiq-client --no-annotate --no-header --quiet --extra embedded --extra local-model --extra browser --extra git --extra sftp --extra smb --extra sql --extra tables --group build

.PHONY: help setup setup-python setup-dev ocr-data mail-server demo test test-coverage test-unit mutate check check-install wheels lint lint-texts lint-types \
	lint-changed-types lint-ui audit bench bench-growth eval-extraction eval-completeness eval-retrieval bench-peers lock \
	clean ui ui-beside ui-if-possible ui-dev ui-lint ui-check ui-e2e

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ── Set-up ─────────────────────────────────────────────────────────────────────────────────────────────────────────

setup: setup-python ui-if-possible ## Make .venv with what is needed to run, and the UI where Node is
setup-python: $(VENV)/.runtime ocr-data
setup-dev: $(VENV)/.development ocr-data mail-server ## Make .venv with what is needed to work on it

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "No Python $(OLDEST_PYTHON) or newer was found: install one (Debian, Ubuntu:" \
		"apt-get install python3 python3-venv), or name it: make setup PYTHON=/path/to/python3"; exit 1; }
	@"$(PYTHON)" -m venv --clear $(VENV) || { rm -rf $(VENV); echo "$(PYTHON) cannot make a virtual environment;" \
		"on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }

# The stamps say which lock is installed; a changed lock, or a changed pyproject.toml, installs again.
$(VENV)/.runtime: requirements/runtime.lock pyproject.toml distributions/client/pyproject.toml | $(BIN)/python
	@echo "Installing the packages of requirements/runtime.lock into $(VENV); the first time takes a minute or two"
	$(PIP) install --quiet --require-hashes -r requirements/runtime.lock
	$(PIP) install --quiet --no-deps --no-build-isolation -e distributions/client -e .
	@touch $@

$(VENV)/.development: requirements/development.lock pyproject.toml distributions/client/pyproject.toml | $(BIN)/python
	@echo "Installing the packages of requirements/development.lock into $(VENV); the first time takes a minute or two"
	$(PIP) install --quiet --require-hashes -r requirements/development.lock
	$(PIP) install --quiet --no-deps --no-build-isolation -e distributions/client -e .
	@touch $(VENV)/.runtime $@

# Without it everything works but the reading of scanned pages, so its absence is told and never an error.
ocr-data:
	@if ls /usr/share/tesseract-ocr/*/tessdata/eng.traineddata >/dev/null 2>&1; then exit 0; fi; \
	install="apt-get install -y --no-install-recommends tesseract-ocr-eng"; \
	if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		export DEBIAN_FRONTEND=noninteractive; \
		{ $$install || { apt-get update && $$install; }; } >/dev/null 2>&1 && exit 0; \
		echo "Note: '$$install' failed, so scanned pages will not be read; everything else works."; \
	elif command -v apt-get >/dev/null; then \
		echo "Note: scanned pages are read only with OCR data: sudo $$install"; \
	else \
		echo "Note: scanned pages are read only with Tesseract's English data in /usr/share/tesseract-ocr/5/tessdata."; \
	fi

# The tests of mailboxes run against it where it is installed, and are skipped elsewhere.
mail-server:
	@if [ -x /usr/sbin/dovecot ] || ! command -v apt-get >/dev/null || [ "$$(id -u)" != 0 ]; then exit 0; fi; \
	export DEBIAN_FRONTEND=noninteractive; install="apt-get install -y --no-install-recommends dovecot-imapd"; \
	{ $$install || { apt-get update && $$install; }; } >/dev/null 2>&1 || echo "Note: '$$install' failed; tests are skipped."

# ── Run ────────────────────────────────────────────────────────────────────────────────────────────────────────────

# The UI is built beside it: an answer needs none, and the address serves the pages as soon as they are there.
demo: setup-python ## Start everything with sample documents, ask three questions, serve until Ctrl-C
	@$(MAKE) --no-print-directory ui-beside & \
		if $(NODE_IS_THERE); then follow=--pages-follow; fi; exec $(BIN)/analytiq demo $$follow

# ── The management UI ──────────────────────────────────────────────────────────────────────────────────────────────

NODE_IS_THERE := node -e 'const [major, minor] = process.versions.node.split("."); process.exit(Number(major) * 100 + Number(minor) < 2009 ? 1 : 0)' \
	>/dev/null 2>&1 && command -v npm >/dev/null
HOW_TO_GET_NODE := Node 20.9 or newer and npm are needed for it: https://nodejs.org, or your system's packages.
NPM := npm --prefix ui --loglevel=error
UI_SOURCES = $(shell find ui \( -name node_modules -o -name .next -o -name out -o -path ui/public/pdf -o -path ui/tests \
	-o -name test-results -o -name next-env.d.ts -o -name tsconfig.tsbuildinfo -o -name .built -o -name .begun \) -prune -o -type f -print)

ui: ui/.built ## Build the management UI; the API process serves it

ui-beside:
	@if ! $(NODE_IS_THERE); then \
		[ -f api/ui/index.html ] || echo "Note: the management UI is left out. $(HOW_TO_GET_NODE)"; \
	elif ! $(MAKE) --no-print-directory --question ui >/dev/null 2>&1; then \
		mkdir -p .analytiq; \
		echo "The management UI is being built beside this; .analytiq/ui.log has its progress."; \
		if $(MAKE) --no-print-directory ui >.analytiq/ui.log 2>&1; \
			then echo "The management UI is ready at the address above, beginning with /sign-in/."; \
			else echo "Note: the management UI could not be built: see .analytiq/ui.log. Everything else works."; fi; \
	fi

ui-if-possible:
	@if $(NODE_IS_THERE); then \
		$(MAKE) --no-print-directory ui || echo "Note: the management UI could not be built; everything else works."; \
	elif [ ! -f api/ui/index.html ]; then \
		echo "Note: the management UI is left out. $(HOW_TO_GET_NODE)"; \
	fi

ui/node_modules/.installed: ui/package-lock.json
	@$(NODE_IS_THERE) || { echo "The management UI cannot be built. $(HOW_TO_GET_NODE)"; exit 1; }
	@echo "Installing the packages of ui/package-lock.json; the first time takes half a minute"
	@sh ui/scripts/install.sh
	@touch $@

ui/.built: ui/node_modules/.installed $(UI_SOURCES)
	@echo "Building the management UI; this takes about a minute"
	@touch ui/.begun  # before, so that what is changed meanwhile is built the next time
	NEXT_TELEMETRY_DISABLED=1 $(NPM) run --silent build
	@mv ui/.begun $@

ui-dev: ui/node_modules/.installed ## Serve the UI at :3100 and renew it as files change; ANALYTIQ_API_URL says where the API is
	NEXT_TELEMETRY_DISABLED=1 $(NPM) run dev

ui-lint: ui/node_modules/.installed ## Check the UI's format and lint it
	$(NPM) run --silent format:check
	$(NPM) run --silent lint

ui-check: ui/node_modules/.installed ## Check the UI's types and generated client, run its unit tests
	$(NPM) run --silent generate -- --check
	$(NPM) run --silent types
	$(NPM) run --silent unit

ui-e2e: setup-dev ui ## Drive the UI in Debian's Chromium, on a platform of its own
	$(NPM) run --silent sizes
	$(NPM) run --silent e2e

# ── Work on it ─────────────────────────────────────────────────────────────────────────────────────────────────────

test: setup-dev ## Run every test, on a real MongoDB
	@if $(NODE_IS_THERE); then $(MAKE) --no-print-directory ui ui-check; \
		else echo "Note: the management UI is neither built nor tested. $(HOW_TO_GET_NODE)"; fi
	$(MAKE) --no-print-directory test-coverage
	$(BIN)/pytest -n $(TEST_PROCESSES) --dist loadfile --ignore=tests/unit --ignore=tests/contract

test-coverage: $(VENV)/.development ## Run unit and contract tests; fail below the floor of branches covered
	$(BIN)/pytest tests/unit tests/contract -n $(TEST_PROCESSES) --dist loadfile --cov --cov-report=term $(WITHOUT_FUZZING)

check: setup-dev ## Lint, types of what changed, import contracts and the quick unit tests, side by side
	@$(MAKE) --no-print-directory $(SIDE_BY_SIDE) test-unit lint-changed-types lint-ui lint-texts

test-unit: $(VENV)/.development
	$(BIN)/pytest tests/unit -n $(TEST_PROCESSES) -q -m "not slow" --hypothesis-profile=quick $(WITHOUT_FUZZING)

mutate: setup-dev ## Mutate the pure modules named in pyproject.toml and list the mutants that no test notices
	$(BIN)/mutmut run --max-children $(TEST_PROCESSES)
	$(BIN)/mutmut results

wheels: $(VENV)/.development ## Build the wheels of the server and of the client alone into dist
	$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir dist distributions/client .

check-install: setup-dev ## Install the wheel with the oldest supported pip, and read a document of each kind
	@.ci/check-install $(BIN) $(OLDEST_PIP)

lint: setup-dev ## Lint, format, types, import contracts, spelling, prose; of the UI too where Node is
	@$(MAKE) --no-print-directory $(SIDE_BY_SIDE) lint-types lint-ui lint-texts

lint-texts: $(VENV)/.development
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(BIN)/proselint check README.md CHANGELOG.md docs
	$(BIN)/validate-pyproject pyproject.toml distributions/client/pyproject.toml

lint-types: $(VENV)/.development
	$(BIN)/basedpyright

lint-changed-types: $(VENV)/.development
	$(BIN)/python scripts/changed_types.py

lint-ui:
	@if $(NODE_IS_THERE); then $(MAKE) --no-print-directory ui-lint; \
		else echo "Note: the management UI is not linted. $(HOW_TO_GET_NODE)"; fi

audit: setup-dev ui/node_modules/.installed ## Look for known vulnerabilities of the packages that are installed
	$(BIN)/pip-audit --requirement requirements/runtime.lock --no-deps --disable-pip --progress-spinner off
	$(NPM) audit --omit=dev --audit-level=high

bench: setup-dev ## Run the short version of every benchmark; BENCH_ARGUMENTS are passed on
	$(BIN)/python -m benchmarks $(BENCH_ARGUMENTS)

bench-growth: setup-dev ## Time of each step by size of file, of ordinary and hostile made files: FILES=pdf,docx SIZES="0.1 1"
	$(BIN)/python -m benchmarks.file_growth --files "$(FILES)" $(if $(SIZES),--sizes $(SIZES)) $(BENCH_ARGUMENTS)

eval-extraction: setup-dev ## Phrases, pages, blocks, tables by cell and seconds by kind of file: DIRECTORIES="DIRECTORY …"
	$(BIN)/python -m benchmarks.extraction $(DIRECTORIES) $(EVALUATION_ARGUMENTS)

eval-completeness: setup-dev ## Visible words that texts lack, by kind of file: DIRECTORIES="DIRECTORY …"
	$(BIN)/python -m benchmarks.completeness $(DIRECTORIES) $(EVALUATION_ARGUMENTS)

eval-retrieval: setup-dev ## hit@k and nDCG@10 of the set in tests/data/retrieval; COLLECTIONS=DIRECTORY: of BEIR's
	@if [ -n "$(COLLECTIONS)" ]; then exec $(BIN)/python -m benchmarks.retrieval "$(COLLECTIONS)" $(EVALUATION_ARGUMENTS); \
		else exec $(BIN)/python -m benchmarks.context_retrieval $(EVALUATION_ARGUMENTS); fi

PEERS := .venv-benchmarks

$(PEERS)/.installed: requirements/benchmarks.txt
	@echo "Installing the packages of requirements/benchmarks.txt into $(PEERS); this takes a few minutes"
	@"$(PYTHON)" -m venv --clear $(PEERS)
	$(PEERS)/bin/python -m pip install --disable-pip-version-check --quiet -r requirements/benchmarks.txt
	@touch $@

bench-peers: setup-dev $(PEERS)/.installed ## First ingestion beside LlamaIndex and LangChain: PEER_DOCUMENTS=2000 BENCH_ARGUMENTS="…"
	$(BIN)/python -m benchmarks.ingest_peers --peers $(PEERS)/bin/python \
		$(if $(PEER_DOCUMENTS),--documents $(PEER_DOCUMENTS)) $(BENCH_ARGUMENTS)

lock: setup-dev ## Pin what pyproject.toml asks for; add UPGRADE=--upgrade for newer versions
	$(LOCK) $(UPGRADE) --output-file requirements/runtime.lock
	$(LOCK) $(UPGRADE) --group dev --output-file requirements/development.lock

clean: ## Remove .venv and caches; data directories stay
	rm -rf $(VENV) $(PEERS) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage mutants
	rm -rf api/ui ui/node_modules ui/.next ui/out ui/public/pdf ui/.built ui/.begun
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
