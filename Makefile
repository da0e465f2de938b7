# The commands of a checkout: run it, test it, measure it.
#
#   make run     a demonstration at a virtual table
#   make tools   installs the pinned libraries of a running table and of the tests into .venv
#   make test    style, types, import contracts and the tests that need only Python; takes minutes
#   make check   the same, and the tests with processes, brokers, databases and browsers: everything that CI runs
#   make bench   all benchmarks, in one table with the previous release's (BENCHMARKS="replay link" for some,
#                RUNS=3 for their spread, KEEP=0.2.0 to keep the ratios as that release's)
#   make soak    the long runs (SECONDS=600 each of two, KILLS=300, SPINS=5000, THROWS=10000,
#                WAGERS=100000 of each rule set); SEED=2 plays other sessions, spins, throws, wagers and kills
#   make crash   power cuts, block by block (STATES=500)
#   make lab     the product in a virtual machine: a kernel's GPIO chips and USB ports, systemd, power cuts (as root, on Debian;
#                kept in LAB_CACHE=~/.cache/table-controller-lab; LAB=tests/lab/test_wheel.py for a part, CUTS=20)
#   make lab-slice   a part of it that takes minutes if the machine has been built
#   make lock    pins the newest releases       make clean  back to a fresh checkout
#   make install [TABLE=craps]   on a table's own machine, as root; installs an upgrade too
#   make rollback                back to the previous release      make uninstall  data stays
#   make wheelhouse WHEELHOUSE=DIR, then install with the same option on a machine without a network
#   make audit ADVISORIES=FILE   check the pinned packages against an export of security advisories (OSV)
#   make sbom [SBOM=FILE]        the release's bill of materials (CycloneDX)
#   make schema diagrams rules    regenerate the files made from the code: schemas, docs/machines.md, docs/rules.md
#   make pictures           redraw the docs' throws and spins from the recorded logs, and every state of screens and terminal
#
# PYTHON=python3.12 chooses the interpreter of a new .venv (3.11 to 3.13).

.DEFAULT_GOAL := run
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
# Let the hundreds of processes that the tests start share compiled modules; pip then need not compile any.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check --no-input
INSTALL := $(PIP) install --no-compile
CODE := controller drivers tests
# Runs a command that is silent for a minute and prints a dot each second; returns the command's exit status.
WITH_DOTS = with_dots() { (while sleep 1 && kill -0 $$$$ 2>/dev/null; do printf .; done) & dots=$$!; \
	"$$@"; ended=$$?; kill $$dots 2>/dev/null; echo; return $$ended; }; with_dots

# Parallel tests: more than there are cores, because many wait for a process, a clock or a disk.
WORKERS := 4
# Neighbouring tests stay in one worker, which starts their browser, tables and databases once; idle workers take over
# tests from the others.
PYTEST := $(BIN)/python -m pytest --quiet -n $(WORKERS) --dist worksteal
TESTS :=
SECONDS := 600
KILLS := 300
STATES := 500
WAGERS := 100000
SBOM := table-controller.cdx.json
LOCKS := requirements-table.lock requirements.lock requirements-dev.lock
SPINS := 5000
THROWS := 10000
SEED := 1
CUTS := 20
LAB := tests/lab
LAB_SLICE := $(addprefix tests/lab/test_,cache.py kernel.py machine.py kept.py writelog.py lines.py panel.py)
LAB_CACHE :=
# One guest per core in parallel; an idle worker takes over tests from the other.
LAB_PARALLEL := -n auto --dist worksteal

FITS := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info)
CANDIDATES := $(or $(PYTHON),python3.13 python3.12 python3.11 python3)

.PHONY: install upgrade rollback uninstall wheelhouse run tools test check only-python everything sound bench soak crash lab lab-slice lock schema diagrams rules pictures audit sbom clean

run: .venv/.run
	@$(BIN)/tablectl demo

tools: .venv/.dev
	@echo "Ready: the journal, the links, the screens and the tests' tools are in .venv. To let a shell find tablectl:"
	@echo '    export PATH="$(CURDIR)/.venv/bin:$$PATH"'

# On a fresh checkout the type check takes a minute on one core; the tests start on another core in the meantime.
test: .venv/.dev
	@$(MAKE) -j 2 sound only-python

check: .venv/.dev
	@$(MAKE) -j 2 sound everything

only-python: .venv/.dev
	@$(PYTEST) -m "not slow and not live" $(TESTS)

everything: .venv/.dev
	@$(PYTEST) -m "not slow" --durations=15 $(TESTS)

sound: .venv/.dev
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/ruff format --check --quiet $(CODE)
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo >.venv/imports.txt || { cat .venv/imports.txt; exit 1; }
	@$(BIN)/python -m controller.app.schemas --check
	@$(BIN)/python -m controller.publish.schemas --check

bench: .venv/.dev
	@$(BIN)/python -m tests.benchmarks $(BENCHMARKS) $(if $(RUNS),--runs "$(RUNS)") $(if $(KEEP),--keep "$(KEEP)")

# Every part is run, even if one before it found a disagreement. Exit status 5 of pytest: there is no slow test.
soak: .venv/.dev
	@failed=0; part() { echo "== $$*"; $(BIN)/python -m "$$@" || failed=1; }; \
	part tests.sim.soak --seconds $(SECONDS) --first $(SEED)000; \
	part tests.sim.spin_soak --spins $(SPINS) --seed $(SEED); \
	part tests.sim.dice_soak --throws $(THROWS) --seed $(SEED); \
	part tests.sim.table_soak --seconds $(SECONDS) --seed $(SEED); \
	part tests.settlement.reference --wagers $(WAGERS) --seed $(SEED); \
	part tests.app.soak --kills $(KILLS) --seed $(SEED); \
	echo "== pytest -m slow"; $(BIN)/python -m pytest --quiet -m slow || [ $$? -eq 5 ] || failed=1; \
	exit $$failed

crash: .venv/.dev
	@$(BIN)/python -m tests.journal.crash --states $(STATES)

lab: .venv/.dev
	@LAB_CACHE="$(LAB_CACHE)" LAB_CUTS="$(CUTS)" $(BIN)/python -m pytest $(LAB_PARALLEL) -m lab --quiet -rs $(LAB)

lab-slice: .venv/.dev
	@LAB_CACHE="$(LAB_CACHE)" LAB_BUILD=no $(BIN)/python -m pytest $(LAB_PARALLEL) -m lab --quiet -rs $(LAB_SLICE)

upgrade: install
install rollback uninstall wheelhouse:
	@DESTDIR="$(DESTDIR)" PYTHON="$(PYTHON)" TABLE="$(TABLE)" EXTRAS="$(EXTRAS)" WHEELHOUSE="$(WHEELHOUSE)" \
		systemd/install.sh $@

schema: .venv/.dev
	@$(BIN)/python -m controller.app.schemas
	@$(BIN)/python -m controller.publish.schemas

# For each drawing in the docs, the attempt of a recorded log that it shows.
pictures: .venv/.dev
	@set -e; draw() { $(BIN)/tablectl explain "tests/logs/$$1.jsonl.gz#$$2" --no-plot \
		--picture "docs/pictures/$$3.svg" >/dev/null; }; \
	draw craps-12-034-voids 3 no-roll; \
	draw craps-12-034-voids 9 roll; \
	draw roulette-american 1 spin; \
	draw roulette-american 2 too-few-revolutions
	@$(BIN)/python -m tests.benchmarks.reading_time docs/pictures/reading-time.svg >/dev/null
	@$(BIN)/python -m tests.console.pictures docs/pictures/screens
	@$(BIN)/python -m tests.cli.pictures docs/pictures/terminal

diagrams: .venv/.dev
	@$(BIN)/python -c "from controller.games.diagrams import manual; print(manual(), end='')" >docs/machines.md

# docs/rules.md: every rule with the code and the tests that cite it.
rules: .venv/.dev
	@$(BIN)/python -m controller.rulebook.page >docs/rules.md

# The dev lock is constrained to the releases of the run-time lock, so that the tested releases are those that run.
LOCK := $(BIN)/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras --no-header \
	--annotation-style=line --no-emit-index-url --no-emit-trusted-host --no-emit-find-links

lock: .venv/.dev
	@$(LOCK) --extra build --output-file requirements.lock pyproject.toml
	@$(LOCK) --extra dev --extra build --constraint requirements.lock \
		--output-file requirements-dev.lock pyproject.toml
	@$(LOCK) --extra journal --extra hardware --extra mqtt --extra settlement --extra web --extra vision \
		--constraint requirements-dev.lock --output-file requirements-table.lock pyproject.toml

# ADVISORIES is an export that was fetched elsewhere; the audit needs no network. The packages of a table come first.
audit: .venv/.dev
	@$(BIN)/python -m controller.supply.audit $(ADVISORIES) $(LOCKS)

sbom: .venv/.dev
	@$(BIN)/python -m controller.supply.sbom requirements-table.lock $(SBOM)

clean:
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist

# venv installs pip last, so an environment with pip is complete.
$(BIN)/pip:
	@echo "Setting up once: a separate Python environment in .venv ..."
	@rm -rf .venv
	@for python in $(CANDIDATES); do \
		if "$$python" -c '$(FITS)' >/dev/null 2>&1; then $(WITH_DOTS) "$$python" -m venv .venv; exit; fi; \
	done; \
	echo "make: found no usable Python among: $(CANDIDATES)" >&2; \
	echo "make: expected 3.11 or newer with its venv module (Debian: apt install python3 python3-venv)," >&2; \
	echo "make: or name one: make PYTHON=/path/to/python3.12" >&2; \
	exit 1

define IN_PLACE
@echo "  the controller itself ..."
@$(WITH_DOTS) $(INSTALL) --no-deps --no-build-isolation --editable .
@found=$$($(BIN)/python -m pip check) || { echo "$$found: run make lock" >&2; exit 1; }
endef

.venv/.run: requirements.lock pyproject.toml | $(BIN)/pip
	@echo "  the $$(grep -c == requirements.lock) packages that the controller needs, as pinned in requirements.lock ..."
	@$(WITH_DOTS) $(INSTALL) --require-hashes --requirement requirements.lock
	$(IN_PLACE)
	@touch $@

# The tools' lock also contains the run-time releases, so that one run of pip installs everything.
.venv/.dev: requirements-dev.lock requirements.lock pyproject.toml | $(BIN)/pip
	@echo "  the $$(grep -c == requirements-dev.lock) packages that the controller and its tools need, as pinned in requirements-dev.lock ..."
	@$(WITH_DOTS) $(INSTALL) --require-hashes --requirement requirements-dev.lock
	$(IN_PLACE)
	@touch .venv/.run $@
