# Every target works on a fresh clone: each depends on `setup`, which needs only Python (>= 3.11) and make.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready
DATA   ?= ../shared/data
WORKERS ?= 3

FRAMEWORKS := .venv-frameworks

.PHONY: setup demo test test-all test-frameworks soak reliability mutations fuzz audit lint check format bench clean help

help:
	@echo "make setup | demo | test | test-all | test-frameworks | soak | reliability | mutations | fuzz | audit | lint | check | format | bench | clean"

# The environment, the package with what its tests need, and the default model.
setup: $(STAMP)

# All that is installed is named with its hashes, so that pip need not look for what else is needed; it checks at the end.
$(STAMP): pyproject.toml requirements.txt requirements-hashed.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Citewell needs Python 3.11 or later")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-hashed.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(BIN)/python -m pip check
	$(BIN)/citewell model pull
	@touch $(STAMP)

demo: setup
	@$(BIN)/citewell demo

# Fast, offline, in parallel; anything slow is marked so and runs in test-all. A worker more than there are cores, for
# tests wait for processes and for limits of time; each has a part of its own until it is done (worksteal), so that what
# the tests of a file share is made once.
test: setup
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q

# Also what is slow: kills, large inputs, real services.
test-all: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "slow or not slow"
	$(MAKE) test-frameworks

# The adapters for LangChain, LlamaIndex and Haystack, in an environment of their own: 540 MB that nothing else needs.
test-frameworks: $(FRAMEWORKS)/.ready
	$(FRAMEWORKS)/bin/python -m pytest -c tests/frameworks/pytest.ini tests/frameworks -q

$(FRAMEWORKS)/.ready: pyproject.toml requirements-frameworks.txt
	test -x $(FRAMEWORKS)/bin/python || $(PYTHON) -m venv $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-frameworks.txt
	$(FRAMEWORKS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# Hours: what docs/reliability.md states, anew.
soak: setup
	for seed in 7 8 9 10; do $(BIN)/python bench/kill_ingest.py --rounds 50 --seed $$seed --data $(DATA)/k8s-docs \
	  --json bench/results/kills-$$seed.json || exit 1; done
	for seed in 11 12 13 14; do $(BIN)/python bench/model_ops.py --operations 2500 --seed $$seed \
	  --json bench/results/model-$$seed.json || exit 1; done
	$(BIN)/python bench/readers.py --readers 8 --minutes 5 --json bench/results/readers.json
	$(BIN)/python bench/faults.py --json bench/results/faults.json
	$(BIN)/python bench/faults.py --tests --json bench/results/faults-tests.json
	$(BIN)/python scripts/reliability.py

# docs/reliability.md from what the long runs counted.
reliability: setup
	$(BIN)/python scripts/reliability.py

# Breaks one rule or adapter at a time, in a copy, and sees whether its tests fail: an hour, less where cores are free.
mutations: setup
	$(BIN)/python scripts/mutations.py --json bench/results/mutations.json

# Damaged and invented inputs for whatever reads text from outside, and every bad value at every place.
fuzz: setup
	$(BIN)/python bench/bad_inputs.py --json bench/results/hostile.json
	$(BIN)/python bench/fuzz.py --seconds 600 --data $(DATA)/nasty --json bench/results/fuzz.json

# Known vulnerabilities of what is pinned. Needs a network, and pip-audit on the path. Strict: where a package can't be
# asked about, it would otherwise say that none is known.
audit:
	pip-audit --requirement requirements-hashed.txt --require-hashes --disable-pip --strict

# Everything but the tests: format, lint, import rules, types, licences, the built wheel.
lint: setup
	$(BIN)/ruff format --check src tests bench examples scripts
	$(BIN)/ruff check src tests bench examples scripts
	$(BIN)/python -m pip check
	$(BIN)/python scripts/licences.py
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy
	$(BIN)/python bench/check_wheel.py

# The whole gate at the desk.
check: lint test

format: setup
	$(BIN)/ruff format src tests bench examples scripts
	$(BIN)/ruff check --fix src tests bench examples scripts

# Every figure of README.md and docs/, then their tables anew: an hour on two quiet cores; docs/figures.md has the time of
# each script, bench/every.py the order. A missed bound is said and doesn't stop the rest. The peers are measured in
# environments of their own, 3 GB, made once: under the user's cache folder, or where PEERS says. ONLY names some scripts.
bench: setup
	-$(BIN)/python bench/every.py --data $(DATA) $(if $(PEERS),--peers $(PEERS)) $(if $(ONLY),--only $(ONLY))
	$(BIN)/python scripts/figures.py

clean:
	rm -rf $(VENV) $(FRAMEWORKS) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
