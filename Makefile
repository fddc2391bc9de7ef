# make run     set up .venv and run the main job on the example server (SERVER=..., DATA=...)
# make page    what `ringhil view` shows in a browser, emulator/view/built (Node.js comes from PyPI)
# make test    set up .venv with the test tools and run the tests but for the slow ones
# make soak    the long campaigns, which `make test` leaves out: all parts not yet passed on this commit (PART="proofs pairs:7", PART=all)
# make soak-ledger  which parts were run on which commit, and how they ended
# make docs    the pages with an API reference as a site, build/site; fails at a link that leads nowhere
# make man     manual pages of all commands, build/man; `man -M build/man ringhil-run` shows one
# make vscode  the extension for VS Code: editors/vscode/ringhil.vsix (needs npm)
# make lint    ruff, mypy and Verilator's lint alone
# make coverage  what the cocotb benches reach of rtl/: build/coverage.html
# make prove   all proofs of the RTL, with their broken twins
# make fpga    a GPU for an FPGA board (examples/fpga), and what it takes there into docs/reference/hardware.md (long)
# make mutants the mutation score of the conformance check (long)
# make mutants-firmware  that of the judges of runs (long)
# make generate  rewrite the files that are generated: from protocol/, emulator/engine/layout.py, and the tables of docs/

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SERVER ?= examples/real-files.yaml
DATA ?=
# One more than there are processors: tests wait for the processes that they start.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PART ?=
PAGE := emulator/view/page
BUILT := emulator/view/built
# Where bytecode is not written, pytest and each process that it starts compile and rewrite all modules again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run page test soak soak-ledger docs man vscode lint coverage prove fpga mutants mutants-firmware generate bench clean

run: $(VENV)/.run
	$(BIN)/ringhil run $(SERVER) $(if $(DATA),--data '$(DATA)')

page: $(BUILT)/index.html

test: $(VENV)/.test page
	$(BIN)/pytest -q -n $(JOBS) --dist worksteal -m "not slow"

soak: $(VENV)/.test
	$(BIN)/python -m tests.soak --jobs $(JOBS) $(PART)

soak-ledger: $(VENV)/.test
	$(BIN)/python -m tests.soak --ledger

docs: $(VENV)/.docs page
	rm -rf build/pages && mkdir -p build/pages
	ln -s ../../README.md ../../CHANGELOG.md ../../CONTRIBUTING.md ../../SECURITY.md ../../LICENSE ../../docs ../../examples build/pages/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

man: $(VENV)/.docs
	$(BIN)/python docs/man.py build/man/man1

vscode:
	@command -v npm >/dev/null || { echo "the extension is packed by npm; install it, e.g. apt-get install npm" >&2; exit 2; }
	cd editors/vscode && npm ci --no-audit --no-fund --loglevel=error && npm run --silent package

lint: $(VENV)/.test
	$(BIN)/pytest -q tests/test_style.py tests/rtl/test_lint.py

coverage: $(VENV)/.test page
	$(BIN)/python -m benchmarks.coverage

prove: $(VENV)/.test
	$(BIN)/python -m tests.formal

fpga: $(VENV)/.run
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[fpga]'
	$(MAKE) -C examples/fpga
	$(BIN)/python examples/fpga/report.py examples/fpga/build/report.json --write docs/reference/hardware.md

mutants: $(VENV)/.test
	$(BIN)/python -m benchmarks.mutation

mutants-firmware: $(VENV)/.test
	$(BIN)/python -m benchmarks.mutation_firmware --jobs $(JOBS)

generate: $(VENV)/.run
	$(BIN)/python -m ringhil.protocol.generate
	$(BIN)/python -m ringhil.emulator.engine.layout
	$(BIN)/python -m ringhil.emulator.scenario.networks
	$(BIN)/python -m tests.tables

bench: $(VENV)/.run
	$(BIN)/ringhil bench

clean:
	rm -rf $(VENV) $(BUILT) $(PAGE)/node_modules build *.egg-info .pytest_cache .mypy_cache .ruff_cache

# The stamps hold what was installed: nothing is set up again while these files stay the same.
$(VENV)/.run: pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "ringhil needs Python >= 3.11 as '$(PYTHON)'; install one, e.g. apt-get install python3 python3-venv" >&2; exit 2; }
	@command -v $${CXX:-c++} >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || \
	  { echo "ringhil needs a C++ compiler; install one, e.g. apt-get install g++" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.run
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[test]'
	@touch $@

$(VENV)/.docs: $(VENV)/.run
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[docs]'
	@touch $@

$(VENV)/.page: $(VENV)/.run
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[page]'
	@touch $@

$(PAGE)/node_modules/.made: $(VENV)/.page $(PAGE)/package.json $(PAGE)/package-lock.json
	cd $(PAGE) && PATH="$(abspath $(BIN)):$$PATH" npm ci --loglevel=error
	@touch $@

# The page has its types from those of its answers: a page that asks for others isn't built.
$(PAGE)/src/messages.ts: $(PAGE)/node_modules/.made emulator/view/messages.py emulator/view/fleet.py emulator/view/schema.py emulator/pages/charts.py
	$(BIN)/python -m ringhil.emulator.view.schema >$(PAGE)/messages.json
	cd $(PAGE) && PATH="$(abspath $(BIN)):$$PATH" npm --loglevel=error run --silent messages

$(BUILT)/index.html: $(PAGE)/src/messages.ts $(PAGE)/index.html $(wildcard $(PAGE)/*.ts $(PAGE)/ts*.json $(PAGE)/src/*)
	cd $(PAGE) && PATH="$(abspath $(BIN)):$$PATH" npm --loglevel=error run --silent build
