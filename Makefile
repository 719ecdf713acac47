# The one entry: `make` lists what there is to do. All it needs is make and Python 3.11 or newer with the venv module.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# PYTHON=... picks the interpreter; otherwise the first of these that is new enough.
PYTHONS := $(or $(PYTHON),python3 python3.13 python3.12 python3.11)
# Many tests wait for others: one job more than there are processors.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
TESTS ?= tests
ONCE ?=
ON ?=
WITHOUT ?=

BIN := .venv/bin
PACKAGES := legation k8s_watch translator xds_server
CHECKED := $(PACKAGES) tests bench $(wildcard demo deploy docs e2e)
GROUPS := run test lint docs audit build
LOCKS := $(GROUPS:%=requirements/%.lock)
SOURCES := $(shell find $(PACKAGES) -type f -not -path '*/__pycache__/*')
# What stands beside the packages: tests of the wheel see all of it, and none of the packages' sources.
BESIDE := $(filter-out $(PACKAGES) build dist,$(wildcard * .dockerignore))

PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
LOCKED := $(PIP_INSTALL) --require-hashes --only-binary :all:
SLOWEST := --durations 15 --durations-min 5
PYTEST := -m pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder $(SLOWEST)
UV_COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header $(if $(UPGRADE),--upgrade)

# Steps are announced in bold on a terminal, plainly anywhere else.
say = @if [ -t 1 ]; then printf '\033[1m%s\033[0m\n' '$(1)'; else printf '%s\n' '$(1)'; fi

.PHONY: help
help: ## list what there is to do
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: setup
setup: .venv/ready ## make .venv, with every dependency as locked

.PHONY: demo
demo: .venv/ready ## see TLS to a backend kept and refused, on this machine; ONCE=1 ends by itself
	@ONCE=$(ONCE) $(BIN)/python -m demo

.PHONY: try
try: .venv/ready ## try one of examples/ with backends made for it: make try EXAMPLE=http; ONCE=1 ends by itself
	@ONCE=$(ONCE) $(BIN)/python -m demo $(or $(EXAMPLE),none)

.PHONY: test
test: source-test wheel-test ## run the tests: on the sources, then on the built wheel

.PHONY: source-test
source-test: .venv/ready ## run the tests on the sources; TESTS=tests/translator picks some
	$(call say,Testing the sources)
	@$(BIN)/python $(PYTEST) $(TESTS)

.PHONY: wheel-test
wheel-test: build/wheel-env/ready ## install the wheel in an empty environment and run the quick tests on it
	$(call say,Testing the wheel)
	@rm -rf build/elsewhere && mkdir -p build/elsewhere && cp -R $(BESIDE) build/elsewhere/
	@cd build/elsewhere && ../wheel-env/bin/python tests/installed.py
	@cd build/elsewhere && ../wheel-env/bin/python $(PYTEST) -p no:cacheprovider -m 'not envoy and not search and not tree' tests

.PHONY: lint
lint: .venv/ready ## check format, style, types, imports between packages, spelling
	$(call say,Checking format and style)
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/ruff check --quiet
	$(call say,Checking types)
	@$(BIN)/mypy
	$(call say,Checking who imports whom)
	@found=$$($(BIN)/lint-imports) || { echo "$$found"; exit 1; }
	$(call say,Checking spelling and pyproject.toml)
	@$(BIN)/codespell $(CHECKED) $(wildcard *.md)
	@found=$$($(BIN)/validate-pyproject pyproject.toml 2>&1) || { echo "$$found"; exit 1; }

.PHONY: format
format: .venv/ready ## rewrite the format, and what style rules can mend by themselves
	@$(BIN)/ruff check --quiet --fix-only
	@$(BIN)/ruff format --quiet

.PHONY: goldens
goldens: .venv/ready ## rewrite the expected results of tests/cases; read the difference before you commit it
	@$(BIN)/python -m pytest --quiet --update-goldens tests/translator/test_cases.py

.PHONY: docs
docs: .venv/ready ## rewrite the pages that are made from the code, then build the site: build/site/index.html
	@$(BIN)/python docs/spec_coverage.py
	@$(BIN)/python docs/reference.py
	@$(BIN)/python docs/checks.py
	$(call say,Building the site)
	@found=$$($(BIN)/zensical build --strict 2>&1) || { echo "$$found"; exit 1; }

.PHONY: chart
chart: .venv/ready ## rewrite what the Helm chart takes from the code: the rules of its roles
	@$(BIN)/python deploy/permissions.py

.PHONY: manifests
manifests: chart ## rewrite deploy/legation.yaml, which is the chart for kubectl; needs Go, of which Helm is made once
	@$(BIN)/python -m deploy.manifests

.PHONY: coverage
coverage: .venv/ready ## run the tests and list lines and branches that none of them takes
	@$(BIN)/python $(PYTEST) --quiet --cov --cov-report=term-missing:skip-covered $(TESTS)

.PHONY: bench
bench: .venv/ready ## run the benchmarks: ratios and counts; ON=cluster whole controllers with an API server, as root; ON=peers beside others, with Go; SOAK=1 whether anything grows; PLOTS=1 draws
ifeq ($(ON),cluster)
	@$(BIN)/python -m bench.cluster
else ifeq ($(ON),peers)
	@$(BIN)/python -m bench.peers
	@ON=peers $(BIN)/python -m bench.envoy_itself
else ifdef SOAK
	@$(BIN)/python -m bench.soak
else ifdef PLOTS
	@$(BIN)/python -m bench.plots
else
	@for bench in bench/[a-z]*.py; do $(BIN)/python -m bench.$$(basename $$bench .py) || exit 1; done
endif

.PHONY: e2e
e2e: .venv/ready build/wheel-env/ready ## run the tests that need an API server and root; SUITE=core, full or a pattern: the official suite; WITHOUT=FILES leaves some out
	$(if $(SUITE)$(E2E),,$(call say,Testing apart from any cluster: how manifests are judged and what an image is made of))
	$(if $(SUITE)$(E2E),,@$(BIN)/python -m pytest --quiet e2e/crds e2e/apart)
	$(call say,Testing in a cluster (the first time its programs are built: a quarter of an hour))
	@$(if $(SUITE),LEGATION_E2E_PROBE_PERIOD=1) $(BIN)/python -m e2e.cluster with \
	  $(BIN)/python -m pytest $(SLOWEST) --ignore=e2e/crds --ignore=e2e/apart --ignore=e2e/page $(WITHOUT:%=--ignore=%) $(or $(E2E),$(if $(SUITE),e2e/test_conformance.py,e2e))

.PHONY: page
page: .venv/ready ## test the admin port's page in a real Chromium: Debian's, which root is given if it is missing
	$(call say,Testing the page in Chromium)
	@$(BIN)/python -m e2e.page.chromium
	@$(BIN)/python -m pytest --quiet e2e/page

.PHONY: lock
lock: .venv/ready ## resolve the lock files anew, keeping versions that still fit; UPGRADE=1 takes the newest
	@$(UV_COMPILE) pyproject.toml -o requirements/run.lock
	@$(UV_COMPILE) --group pyproject.toml:test -c requirements/run.lock -o requirements/test.lock
	@$(UV_COMPILE) --group pyproject.toml:lint -c requirements/run.lock -c requirements/test.lock -o requirements/lint.lock
	@$(UV_COMPILE) --group pyproject.toml:docs $(patsubst %,-c requirements/%.lock,run test lint) -o requirements/docs.lock
	@$(UV_COMPILE) --group pyproject.toml:audit $(patsubst %,-c requirements/%.lock,run test lint docs) -o requirements/audit.lock
	@$(UV_COMPILE) --group pyproject.toml:build $(patsubst %,-c requirements/%.lock,run test lint docs audit) -o requirements/build.lock

.PHONY: audit
audit: .venv/ready ## ask a public database what is known against what is locked; fails if it cannot be asked
	@$(BIN)/python -m deploy.advisories

.PHONY: sbom
sbom: .venv/ready ## write what is installed with legation, for machines: build/sbom.json (CycloneDX)
	@$(BIN)/python -m deploy.sbom

.PHONY: clean
clean: ## remove everything that make made
	@rm -rf .venv build dist .cache .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	$(call say,Making .venv)
	@for python in $(PYTHONS); do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    if $$python -m venv .venv; then exit 0; fi; \
	    rm -rf .venv; \
	    echo "$$python cannot make a virtual environment: install its venv module (Debian, Ubuntu: python3-venv)." >&2; \
	    exit 1; \
	  fi; \
	done; \
	echo 'Legation needs Python 3.11 or newer, and none of these is: $(PYTHONS). Name one: make PYTHON=/path/to/python3.' >&2; \
	exit 1

.venv/ready: .venv/bin/python $(LOCKS) pyproject.toml
	$(call say,Installing what is locked (a minute the first time))
	@$(BIN)/python $(LOCKED) $(LOCKS:%=-r %)
	@$(BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation --no-index --editable .
	@mkdir -p build && touch $@

build/wheel: .venv/ready $(SOURCES) pyproject.toml README.md LICENSE
	$(call say,Building the wheel)
	@rm -rf $@ && $(BIN)/python -m build --wheel --no-isolation --outdir $@ > build/wheel.log 2>&1 || { cat build/wheel.log; exit 1; }

build/wheel-env/locked: requirements/run.lock requirements/test.lock .venv/ready
	$(call say,Making an empty environment for the wheel)
	@$(BIN)/python -m venv --clear build/wheel-env
	@build/wheel-env/bin/python $(LOCKED) -r requirements/run.lock -r requirements/test.lock
	@touch $@

build/wheel-env/ready: build/wheel-env/locked build/wheel
	@build/wheel-env/bin/python $(PIP_INSTALL) --no-deps --no-index --force-reinstall build/wheel/*.whl
	@touch $@
