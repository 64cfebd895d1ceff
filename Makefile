# `make bench` and `make test` do everything on a machine with Python 3.11+, git and make.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
# A file's tests share what they build. Not reordered: tests/conftest.py puts the longest files first.
PARALLEL := --numprocesses 2 --dist loadfile --no-loadscope-reorder
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: bench browser test coverage test-slow chaos check format audit speed clean help
.DEFAULT_GOAL := help

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: ebmbench needs Python 3.11 or newer; say PYTHON=python3.12 make …"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch torchvision
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

bench: $(READY)  ## Run the suite in params.yaml (or SUITE=toy2d) and print where the report is
	@$(BIN)/ebmbench run $(if $(SUITE),--suite $(SUITE))

browser:  ## Find a browser for the tests of the HTML report; as root on Debian, install one
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		echo "installing Debian's chromium for the tests"; export DEBIAN_FRONTEND=noninteractive; \
		apt-get update -qq && apt-get install -qq --yes --no-install-recommends chromium >/dev/null && exit 0; \
	fi; \
	echo "no browser found, tests of pages are skipped: install Chromium (Debian: apt-get install chromium)"

test: check browser  ## Run `make check` and the tests (about 10 minutes on 2 cores)
	$(BIN)/python -m pytest $(PARALLEL)

coverage: $(READY) browser  ## Run the tests and list the lines that none of them ran (takes half as long again)
	$(BIN)/python -m pytest $(PARALLEL) --cov --cov-report=term:skip-covered

test-slow: $(READY) browser  ## Run the tests and the long ones too
	$(BIN)/python -m pytest $(PARALLEL) -m 'slow or not slow'

chaos: $(READY)  ## Kill runs, inject faults and edit files at random times; check that nothing is lost or wrong (an hour)
	$(BIN)/python -m tests.chaos.kills --rounds 10 --seed 0
	$(BIN)/python -m tests.chaos.faults --seed 0
	$(BIN)/python -m tests.chaos.edits --rounds 30 --seed 0

check: $(READY)  ## Check lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## Fix lint and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

audit: $(READY)  ## Look for known vulnerabilities of the pinned packages (needs the network)
	$(PYTHON) -m venv .venv/audit
	.venv/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	.venv/audit/bin/pip-audit --strict --disable-pip --no-deps --requirement constraints.txt

speed:  ## Measure speed beside other libraries and the last release, and write reports/speed/speed.md (takes hours; SPEED=--quick tries it)
	$(PYTHON) -m venv .venv/bench
	.venv/bench/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch torchvision
	.venv/bench/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[bench,dask]'
	OMP_NUM_THREADS=1 .venv/bench/bin/python -m benchmarks.speed $(SPEED)

clean: $(READY)  ## Free what is in work/ and also in DVC's cache
	@$(BIN)/ebmbench clean
