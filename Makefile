# Every target sets up what it needs in .venv; nothing has to be installed by hand but Python ≥ 3.11 and Rust.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find rust -name '*.rs' -o -name Cargo.toml)

.PHONY: audit-deps demo docs notebooks test test-slow lint bench reproduce wheel clean
.DEFAULT_GOAL := test

$(BIN)/maturin: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet "maturin>=1.13,<2"
	touch $@

# What the package and its extras need, without the extra `all`, which names the package itself; and
# the dependency groups for tests, linters and benchmarks.
$(VENV)/tools: $(BIN)/maturin
	$(BIN)/python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
	    extras = p['optional-dependencies']; del extras['all']; \
	    print('\n'.join(p['dependencies'] + sum(extras.values(), [])))" > $@.txt
	$(BIN)/python -m pip install --quiet --requirement $@.txt --group test --group lint --group bench
	touch $@

# The package itself, with its Rust core in release mode. Pip would list every extra that is not installed.
$(VENV)/built: $(BIN)/maturin $(RUST_SOURCES)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) PIP_QUIET=1 $(BIN)/maturin develop --release --quiet
	touch $@

# What the demo needs besides the package: the command line and plots.
$(VENV)/demo: $(BIN)/maturin
	$(BIN)/python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
	    extras = p['optional-dependencies']; print('\n'.join(extras['cli'] + extras['plot']))" > $@.txt
	$(BIN)/python -m pip install --quiet --requirement $@.txt
	touch $@

demo: $(VENV)/built $(VENV)/demo
	$(BIN)/dpfit demo

test: $(VENV)/built $(VENV)/tools
	cargo test --quiet
	$(BIN)/python -m pytest -q -n 2 --dist loadfile
	$(BIN)/python -m pytest -q --doctest-modules python/dpfit benches/paper

test-slow: $(VENV)/built $(VENV)/tools
	$(BIN)/python -m pip install --quiet --group release
	$(BIN)/python -m pytest -q -m slow

lint: $(VENV)/built $(VENV)/tools
	cargo fmt --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	$(BIN)/ruff format --check python tests benches docs examples tools
	$(BIN)/ruff check python tests benches docs examples tools
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest dpfit._native

# Licences, sources and known vulnerabilities of dependencies. Says what it cannot check here.
audit-deps: $(VENV)/built $(VENV)/tools
	-$(BIN)/python -m pip install --quiet --group audit
	$(BIN)/python tools/audit_dependencies.py $(ARGS)

# Takes about an hour. With CLUSTER=1 also fits on Spark and Dask; with LARGE=1 one of 10,000,000 rows (10 GB of memory).
bench: $(VENV)/built $(VENV)/tools
	cargo bench --quiet --bench limits
	$(BIN)/python benches/python/core.py
	$(BIN)/python benches/python/estimators.py
	$(BIN)/python benches/python/speed.py $(if $(LARGE),--large)
	$(BIN)/python benches/python/time_spent.py --folder docs/figures
	$(BIN)/python benches/python/memory.py
	$(BIN)/python benches/python/streaming.py
	$(BIN)/python benches/python/files.py --additive
	$(BIN)/python benches/python/precision.py
	$(if $(CLUSTER),$(BIN)/python benches/python/spark.py --jobs)
	$(if $(CLUSTER),$(BIN)/python benches/python/dask_frames.py)

# The paper's experiments: make reproduce ARGS="--data FOLDER --quick".
reproduce: $(VENV)/built $(VENV)/tools
	$(BIN)/python benches/reproduce.py $(ARGS)

# The documentation site, in site/: open site/index.html. Needs neither the package nor a network.
# Not with --quiet, which hides warnings from --strict.
$(VENV)/docs: $(BIN)/maturin
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

docs: $(VENV)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "The site is in site/index.html."

# Executes the projects in docs/projects again, and writes their pages and figures.
notebooks: $(VENV)/built $(VENV)/tools
	$(BIN)/python tools/notebooks.py $(ARGS)

# A wheel that PyPI would take, for Python 3.11 or later (on Linux, for glibc 2.17 or later), and a source
# distribution, in dist/. Both are checked by auditwheel and twine.
wheel: $(BIN)/maturin
	$(BIN)/python -m pip install --quiet --group release
	$(BIN)/python tools/build_distributions.py $(ARGS)

clean:
	rm -rf $(VENV) target dist site
