# make test is the whole suite; CI runs exactly that. tools/uv gets uv where there is none.
export PATH := $(PATH):$(HOME)/.cargo/bin
UV = tools/uv run --frozen
PYTHON = python tests tools soak experiments
# By name, since cargo fmt does not see modules that the lists of algorithms declare.
RUST = $(shell find crates -name '*.rs')

.PHONY: test rust rust-at-end python lint stubs pytest soak soak-core cases sbom fuzz fmt generate messages bench site wheel picture astra-sim

# Rust's half beside Python's: each of them has minutes in which one core waits, such as for the core's single unit of code.
test:
	@$(MAKE) --no-print-directory --jobs=2 rust-at-end python

# What the half of Rust says is shown in one piece, when it has ended.
rust-at-end:
	@mkdir -p target
	@env -u MAKEFLAGS $(MAKE) --no-print-directory rust >target/rust.log 2>&1; status=$$?; cat target/rust.log; exit $$status

python: lint stubs pytest

rust:
	rustfmt --check --edition 2024 $(RUST)
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --workspace --locked

lint:
	$(UV) ruff check $(PYTHON)
	$(UV) ruff format --check $(PYTHON)

stubs:
	$(UV) python -m mypy.stubtest shallows._core

# A file's tests stay in one process: they share browsers, clusters and servers. tests/conftest.py has the order.
pytest:
	$(UV) pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

# Random experiments, mutated documents, killed sweeps, damaged stores, full disks for HOURS: docs/robustness.md.
HOURS ?= 1
soak:
	cargo build --package shallows-py --profile checked --locked
	$(UV) python -m soak --core target/checked --hours $(HOURS) --report soak.md

# The part of it without Python, a hundred times as quick: COUNT random experiments and mutated documents of a SEED.
SEED ?= 1
COUNT ?= 10000
SOAK = cargo run --quiet --profile checked --package shallows-spec --example soak --locked --
soak-core:
	$(SOAK) runs $(SEED) 0 $(COUNT)
	$(SOAK) documents $(SEED) 0 $(COUNT)

# Coverage-guided fuzzing. The compiled part has the targets check and packets, which need nightly Rust and
# `cargo install cargo-fuzz`; the readers of files and the writer of captures have those of soak/guided.py.
TARGET ?= experiment
SECONDS ?= 60
FUZZ = -max_total_time=$(SECONDS) -timeout=20
fuzz:
ifneq ($(filter $(TARGET),check packets),)
	cargo +nightly fuzz run $(TARGET) -- $(FUZZ)
else
	$(UV) --with atheris==3.0.0 python -m soak.guided $(TARGET) $(FUZZ)
endif

# A bill of materials (CycloneDX) and the list of licences.
sbom:
	mkdir -p dist
	$(UV) python tools/supply_chain.py
	$(UV) python tools/supply_chain.py --sbom dist/shallows.cdx.json

# The property tests on other cases than the suite's, a seed after the other: make cases FROM=1 TO=100.
FROM ?= 1
TO ?= 10
cases:
	for seed in $$(seq $(FROM) $(TO)); do \
		echo "seed $$seed"; PROPTEST_RNG_SEED=$$seed cargo test --workspace --locked --quiet || exit 1; \
		HYPOTHESIS_PROFILE=soak $(UV) pytest -k "not notebook and not cluster" --hypothesis-seed=$$seed || exit 1; \
	done

fmt:
	rustfmt --edition 2024 $(RUST)
	$(UV) ruff check --fix $(PYTHON)
	$(UV) ruff format $(PYTHON)

# Files made from the parameters that the Rust sources declare.
generate:
	$(UV) python tools/generate.py

# Every message of the program in tests/messages.txt, to be read against docs/style.md.
messages:
	$(UV) python tools/messages.py

bench:
	./shallows bench

# The documentation, strictly, without the network: .cache/site/html/index.html.
# With Rust's target wasm32-unknown-unknown it has the laboratory, lab/index.html; without, it says so.
site:
	NO_MKDOCS_2_WARNING=1 $(UV) mkdocs build

# A wheel for Python 3.11 and later, and its commands in a fresh environment elsewhere.
wheel:
	rm -rf dist
	tools/uv build --wheel --out-dir dist --quiet .
	tools/try_wheel.sh

# The picture of the live page in README.md, drawn in a real browser, and those of the gallery's cards.
picture:
	$(UV) python tools/gallery_pictures.py
	$(UV) python tools/picture.py

# ASTRA-sim with a network of Shallows, from a checkout of ASTRA-sim: docs/how-to/astra-sim.md. YAML=DIR: the sources of yaml-cpp.
astra-sim:
	$(UV) python tools/astra_sim.py "$(ASTRA)" $(if $(YAML),--yaml "$(YAML)")
