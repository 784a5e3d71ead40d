# make demo   the whole pipeline on real data, then a report     make test        the tests
# make ui     Dagster's web server and daemon                    make test-slow   the long tests: crashes, clusters, Flink
#                                                                make test-all       both in one go
#                                                                make test-nightly   all tests, with new seeds
.DEFAULT_GOAL := help
.PHONY: help demo ui test test-slow test-all test-nightly servers servers-of-slow soak chaos mutants matrix site release lint figures benchmarks lock clean install-run install-test

# Kept here also where the environment forbids Python to write beside its sources: hundreds of short processes would
# compile every module again, which takes them three times as long to start.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/bytecode

PORT ?= 3000
MINUTES ?= 10
# Test files run side by side in this many processes; each has its own Spark session and JVM. One more than the machine
# has processors, since a third of the time goes into waiting: for servers, for killed processes, for ticks.
JOBS ?= $(shell expr $$(nproc) + 1)
BIN := .venv/bin
PYTEST = $(BIN)/python -m pytest -n $(JOBS) --dist loadfile
# JVMs of Spark start in half the time with it. Nothing fails without.
SPARK_ARCHIVE = { $(BIN)/python -m tests.spark_archive || echo "Without an archive of its classes Spark starts slowly." >&2; }
# Found when a recipe runs, not when the file is read: only Spark needs Java.
JAVA = JAVA_HOME=$$(scripts/java)
TESTS = $(JAVA) && export JAVA_HOME && $(PYTEST)
# All of them if none is named.
BENCHMARKS ?=
# Of what `make demo` installs. The libraries of vortex, lance and mosaic weigh more than all else that is in Python, and
# only tests and those who have such files need them.
RUN_EXTRAS := --extra cli --extra demo --extra hive --extra jdbc --extra sail
# Of the image of deploy/.
DEPLOY_EXTRAS := --extra cli --extra dagster --extra hive --extra jdbc --extra openlineage --extra postgres
UV_COMPILE := .cache/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate

help:
	@echo "make demo        ingest, compact, index and expire real tables with Dagster on Spark, then report"
	@echo "make ui          start Dagster at http://localhost:$(PORT), with the tables of the demo"
	@echo "make test        run the tests with the same examples every time (make test-slow: the long ones)"
	@echo "make test-all    run both in one go, as continuous integration does"
	@echo "make test-nightly  run both with every case and new random seeds; turn what it finds into a fixed example"
	@echo "make soak        write 20 commits per second to 20 tables for MINUTES=$(MINUTES) while Dagster maintains them, then check them"
	@echo "make chaos       kill processes that work on one table, for MINUTES=$(MINUTES) per scenario, then check the table"
	@echo "make mutants     change the code in small ways (a seeded sample) and check that tests fail"
	@echo "make site        build docs/ as a searchable site in .artifacts/site; a dead link is an error"
	@echo "make matrix      test with other releases of Python, Java, Spark, Dagster, Airflow …; CELLS='…' chooses"
	@echo "make lint        check formatting, style, types, import order, dead code and the docs"
	@echo "make figures     print the size and structure of the code, and the files that a row, a CALL and a run go through"
	@echo "make benchmarks  compare with the Java core, pypaimon and pypaimon-rust, and store the results; BENCHMARKS='…' chooses"
	@echo "make lock        lock pyproject.toml and requirements-*.in as requirements*.txt, with hashes"
	@echo "make clean       remove environments, caches, the demo's warehouse and report, and Dagster's storage"

install-run:
	@scripts/install run

install-test:
	@scripts/install test

demo: install-run
	@$(JAVA) || echo "No Java found: the demo runs on Sail, a Spark-compatible engine without a JVM." >&2; export JAVA_HOME; $(BIN)/python -m paimon_maintenance.demo

ui: install-run
	@$(JAVA) || echo "No Java found: runs use Sail, a Spark-compatible engine without a JVM." >&2; export JAVA_HOME; mkdir -p .dagster_home && \
	  DAGSTER_HOME="$(CURDIR)" exec $(BIN)/python -m paimon_maintenance.assets.ui -p $(PORT)

# Compiling the tests takes a processor as long as fetching the rest takes the network, so both are done at once.
test: install-test servers
	@$(TESTS) -m "not slow" $(ARGS)

test-slow: install-test servers-of-slow
	@$(TESTS) -m slow $(ARGS)

# Both in one go, which loads and starts everything once.
test-all: install-test servers-of-slow
	@$(TESTS) $(ARGS)

# What the tests compare with and talk to.
servers:
	@[ -d "$(PYTHONPYCACHEPREFIX)$(CURDIR)/tests" ] || $(BIN)/python -m pytest --collect-only -qq >/dev/null 2>&1 &
	@scripts/install pypaimon || { echo "No pypaimon: the tests that compare with it are skipped." >&2; [ "$$CI" != true ]; }
	@scripts/fetch-paimon-core
	@scripts/fetch-rest-server
	@scripts/database-servers || { echo "Their tests are skipped." >&2; [ "$$CI" != true ]; }
	@$(JAVA) && export JAVA_HOME && $(SPARK_ARCHIVE)

servers-of-slow: servers
	@scripts/fetch-flink
	@scripts/azurite
	@scripts/gcs-server
	@scripts/hdfs-server
	@scripts/prometheus >/dev/null || { echo "No Prometheus: the test of metrics is skipped." >&2; [ "$$CI" != true ]; }
	@scripts/chromium >/dev/null || { echo "No Chromium: the tests in a browser are skipped." >&2; [ "$$CI" != true ]; }
	@echo "Screenshots of the tests in a browser: $${BROWSER_ARTIFACTS:-.artifacts/browser}"

# Its finds are printed with what brings them back: see tests/examples.py.
test-nightly:
	@HYPOTHESIS_PROFILE=thorough $(MAKE) test-all

soak: install-test
	@$(JAVA) && export JAVA_HOME && $(BIN)/python -m tests.soak --minutes $(MINUTES) $(ARGS)

chaos: install-test
	@scripts/fetch-paimon-core
	@$(JAVA) && export JAVA_HOME && $(BIN)/python -m tests.chaos --minutes $(MINUTES) $(ARGS)

mutants: install-test
	@$(JAVA) && export JAVA_HOME && $(BIN)/python -m tests.mutants $(ARGS)

lint: install-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vulture
	$(BIN)/python scripts/operations-stub --check
	$(BIN)/python scripts/matrix --check
	$(BIN)/python scripts/benchmarks-page --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@$(BIN)/python scripts/figures

figures: install-test
	@$(JAVA) && export JAVA_HOME && $(BIN)/python scripts/figures --walks

benchmarks: install-test
	@for each in pypaimon pypaimon-rust; do scripts/install $$each || echo "No $$each: it is left out of the comparison." >&2; done
	@scripts/fetch-paimon-core
	@$(JAVA) && export JAVA_HOME && $(BIN)/python -m benchmarks --store $(BENCHMARKS) && $(BIN)/python scripts/benchmarks-page

lock: install-test
	$(UV_COMPILE) requirements-uv.in -o requirements-uv.txt
	$(UV_COMPILE) $(RUN_EXTRAS) pyproject.toml -o requirements.txt
	$(UV_COMPILE) --extra all --extra demo pyproject.toml requirements-dev.in -o requirements-dev.txt
	$(UV_COMPILE) $(DEPLOY_EXTRAS) -c requirements-dev.txt pyproject.toml -o requirements-deploy.txt
	$(UV_COMPILE) requirements-pypaimon.in -o requirements-pypaimon.txt
	$(UV_COMPILE) -c requirements-dev.txt requirements-pypaimon-rust.in -o requirements-pypaimon-rust.txt
	$(UV_COMPILE) --extra airflow --extra cli --extra spark --extra sail pyproject.toml requirements-airflow.in -o requirements-airflow.txt

clean:
	rm -rf .venv .venv-pypaimon .venv-pypaimon-rust .venv-airflow .cache .dagster_home warehouse landing spark-warehouse
	rm -rf .artifacts/demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# Its last result is docs/matrix.json, from which the table of docs/compatibility.md is made.
matrix: install-test
	@scripts/matrix $(CELLS)

site: install-test
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet && echo "The site is in .artifacts/site. With its search: $(BIN)/python -m http.server --bind 127.0.0.1 -d .artifacts/site 8000"

release: install-test
	@$(JAVA) && export JAVA_HOME && scripts/release
