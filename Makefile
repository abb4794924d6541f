SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup run agent report test test-all test-fast test-soak test-versions lint docs bench clean

# The project runs on the Spark of its own .venv, whatever else the machine has.
unexport SPARK_HOME SPARK_CONF_DIR PYTHONPATH PYTHONHOME VIRTUAL_ENV
# Material for MkDocs tells of its future on standard error.
export NO_MKDOCS_2_WARNING := true

BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -q --durations=10 --durations-min=5
# Two workers take a file each; they share one Java.
TWO := -n 2 --dist loadfile --no-loadscope-reorder
SQL := $(wildcard models tests/generic examples/*/analyses examples/*/models)
PY := $(wildcard benchmarks docs scripts tests)

help: ## show this list
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: ## make .venv from the lock file, with a Java and Delta; takes no time when it is there
	@scripts/setup.sh

run: setup ## capture the shipped sample in two batches, query it, clean up
	@$(BIN)/python scripts/demo.py

agent: setup ## run the sample's jobs until stopped: captures, and a cleanup a day
	@$(BIN)/python scripts/agent.py --project-dir examples/shop $(ARGS)

report: setup ## a page about the sample's capture: scans, change tables, errors, jobs
	@$(BIN)/python scripts/report.py --project-dir examples/shop --output target/cdc_report.html $(ARGS)

test: lint ## all that CI checks: lint, and each promise of README once
	@$(PYTEST) $(TWO) -m "not soak and not more" tests

test-all: lint ## more spellings, more seeds, longer stories, ANSI mode off: hours
	@DBT_CDC_TESTS=all $(PYTEST) $(TWO) -m "not soak" tests

test-soak: setup ## real processes and long stories: kill -9, races, 1,024 columns; an hour
	@$(PYTEST) $(TWO) -m soak tests

test-versions: setup ## docs/install.md and docs/tutorial.md under other versions of Python and dbt, in .versions/
	@$(BIN)/python scripts/test_versions.py $(SETS)

test-fast: setup ## the tests that take seconds
	@$(PYTEST) $(TWO) -m "not slow and not soak and not more" tests

lint: setup ## ruff, yamllint, sqlfluff, dbt's own warnings, the reference, the links of all pages
	@$(BIN)/ruff check --quiet $(PY)
	@$(BIN)/ruff format --quiet --check $(PY)
	@$(BIN)/yamllint --strict .
	@$(BIN)/sqlfluff lint --nocolor --disable-progress-bar $(SQL)
	@$(BIN)/dbt --quiet --warn-error parse
	@$(BIN)/dbt --quiet --warn-error parse --project-dir examples/shop
	@$(BIN)/python scripts/reference.py --check
	@$(BIN)/python scripts/links.py
	@$(BIN)/mkdocs build --quiet --site-dir target/docs

docs: setup ## the docs as a site, in site/
	@$(BIN)/python scripts/reference.py
	@$(BIN)/mkdocs build --quiet
	@echo 'site/index.html: the docs'

bench: setup ## the benchmarks: a table and a plot
	@$(BIN)/python benchmarks/bench.py

clean: ## remove what runs have made (tables, logs, compiled files); .venv stays
	@rm -rf {.,examples/*}/{.spark,target,logs,dbt_packages,spark-warehouse,metastore_db,derby.log} \
		.versions site .hypothesis .pytest_cache .ruff_cache
