# Two commands do all set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# pytest keeps the test modules that it has rewritten as bytecode; to do that again takes seconds in each process.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest
READY := $(VENV)/.ready
SITE ?= build/site
SITE_TOOLS ?= build/site-tools
VERSION := $(shell sed -n 's/^VERSION: Final = "\(.*\)"/\1/p' catalog/release.py)

.PHONY: demo unit test e2e coverage demo-cluster check format generate verify image image-check bench fuzz chaos soak site site-version release-check release-notes clean help

help: ## List what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1|/' | column -t -s '|'

demo: $(VENV)/.demo ## The main job in seconds: three LeaderWorkerSets before and after admission
	@$(BIN)/python -m fusioninfer demo

# The folder of a test is its tier (tests/tiers.py).
unit: $(READY) ## The inner loop, one to three minutes on two cores: pure code, goldens and laws in process
	TIER=unit $(PYTEST) -q -m "not slow" --numprocesses $(or $(WORKERS),2) tests

test: $(READY) ## What needs Python alone, in minutes: checks, goldens, laws, servers on TLS, the fake API server
	TIER=test $(PYTEST) -q --numprocesses $(or $(WORKERS),4) tests

# The components are written in Go: with GOGC they collect garbage less often than by themselves, which takes more memory
# and a sixth less CPU.
e2e: export GOGC := $(or $(GOGC),400)
e2e: $(READY) ## The real API server, LWS, Volcano, pickers, Envoy, Ray, the image; then what wants the machine alone
	TIER=e2e $(PYTEST) -q --durations 30 --numprocesses $(or $(WORKERS),2) tests
	TIER=alone $(PYTEST) -q tests

demo-cluster: $(READY) ## The same files on the real API server, LWS and Volcano, with nodes added step by step
	@$(BIN)/python -m tests.cluster.demo

# The text of this version in CHANGELOG.md, without its heading.
NOTES := sed -n '/^\#\# $(VERSION)\b/,/^\#\# /{/^\#\# /!p;}' CHANGELOG.md
release-check: ## Whether TAG is the version, and CHANGELOG.md has it
	@test "$(TAG)" = "v$(VERSION)" || { echo "TAG is $(TAG), the version (catalog/release.py) is $(VERSION)"; exit 1; }
	@$(NOTES) | grep -q . || { echo "CHANGELOG.md has no text for $(VERSION)"; exit 1; }

release-notes: ## What CHANGELOG.md says of this version
	@$(NOTES)

# The tests of the pure packages, and those that reach them through the command's files and the controller's results.
PURE := catalog golden importer intent laws plan webhook fusioninfer/lint sync/parts sync/status
coverage: $(READY) ## The floor of line and branch coverage of the pure packages (pyproject.toml)
	TIER=unit $(PYTEST) -q --cov --numprocesses $(or $(WORKERS),2) -m "not slow" $(PURE:%=tests/%)

check: $(READY) ## Lint, types, layers of imports, and words
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.checks.words

format: $(READY) ## Format the source
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

generate: $(READY) ## Write the generated files that need Python alone, or those of NAME; read the difference
	$(BIN)/python -m hack generate $(NAME)

verify: $(READY) ## Compare the generated files with what is there
	$(BIN)/python -m hack verify $(NAME)

image: ## Build the image fusioninfer:VERSION with docker
	docker build --build-arg REVISION=$$(git rev-parse HEAD) --tag fusioninfer:$(VERSION) .

image-check: $(READY) ## Build the image without docker, as root on Debian, and run its pods on the real API server
	$(PYTEST) -q --image tests/cluster/image_check.py tests/cluster/test_deployed.py

bench: $(READY) ## Measure costs against our goals (docs/performance.md); BENCH="stages api" for some parts
	$(BIN)/python -m tests.bench $(BENCH)

fuzz: $(READY) ## Random and hostile reviews for FUZZ_SECONDS (600); a failure prints how to reproduce it
	$(BIN)/python -m tests.hostile.fuzz $(or $(FUZZ_SECONDS),600)

chaos: $(READY) ## Kill every process of a cluster while users work, for CHAOS_ROUNDS (50), chosen by CHAOS_SEED
	TIER=soak CHAOS_SEED=$(or $(CHAOS_SEED),$(shell date +%s)) $(PYTEST) -q -s tests/cluster/test_chaos.py

soak: $(READY) ## The long forms, each with its summary; some of them with SOAK="safety chaos" (tests/soak.py)
	TIER=soak $(BIN)/python -m tests.soak $(SOAK)

site: $(READY) $(SITE_TOOLS)/.ready ## Build the site of docs/ into build/site; a link or an anchor that leads nowhere is an error
	$(BIN)/python -m hack pages build/pages
	NO_MKDOCS_2_WARNING=1 $(SITE_TOOLS)/bin/mkdocs build --strict --site-dir $(abspath $(SITE))

# Each minor version has a folder of its own, and `latest` is an alias of the newest: links of older releases stay.
MIKE = env NO_MKDOCS_2_WARNING=1 PATH=$(abspath $(SITE_TOOLS))/bin:$$PATH mike
site-version: $(READY) $(SITE_TOOLS)/.ready ## Commit the site of this version to the branch gh-pages; PUSH=--push also pushes it
	$(BIN)/python -m hack pages build/pages
	$(MIKE) deploy $(PUSH) --update-aliases $(basename $(VERSION)) latest
	$(MIKE) set-default $(PUSH) latest

$(SITE_TOOLS)/.ready: Makefile
	$(PYTHON) -m venv $(SITE_TOOLS)
	$(SITE_TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check 'mkdocs-material>=9.5,<10' 'mike>=2.1,<3'
	@touch $@

clean: ## Remove the environment and caches of this tree
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage build *.egg-info

# A fresh machine compiles what it imports; pip would compile thousands of modules that nothing here does.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable

$(VENV)/.demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) .
	@touch $@

$(READY): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) '.[test,fast]'
	@touch $(VENV)/.demo $@
