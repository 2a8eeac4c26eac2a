# Two commands: `make run` goes from an empty folder to a report, `make test` is the gate.

# Root, who installs, often has no rustc: then the triple is a guess.
HOST := $(or $(shell rustc --print host-tuple 2> /dev/null),$(shell uname -m)-unknown-linux-gnu)
FSDERBY := target/$(HOST)/release/fsderby
# What `make run` gives to `fsderby run`: make run RUN='quick --rounds 10'
RUN ?= quick

# Where `make install` puts the program; DESTDIR is put before it.
PREFIX ?= /usr/local

.PHONY: run race build install package check test nightly bench lint identity

# With the testbed vm in RUN, QEMU and a kernel for the guests are fetched too.
run:
	@scripts/compilers.sh
	@scripts/setup.sh $(if $(findstring vm,$(RUN)),guests,tools)
	@cargo build --release --locked
	@$(if $(findstring vm,$(RUN)),$(FSDERBY) kernel fetch --if-absent)
	@$(FSDERBY) run $(RUN)

# Its older name.
race: run

build:
	@scripts/compilers.sh
	cargo build --release --locked

# The program that `make build` built, its manual pages, completions and documents.
install:
	@DESTDIR='$(DESTDIR)' scripts/install.sh '$(FSDERBY)' '$(PREFIX)'

# The files of a release in dist/; KEY=FILE signs their checksums.
package:
	@scripts/compilers.sh
	@scripts/package.sh $(KEY)

# All of it, or TARGETS='--lib --bins --test pure'.
TARGETS ?= --all-targets
lint:
	cargo fmt --all --check
	cargo clippy --locked --workspace $(TARGETS) --quiet -- -D warnings

# The fast part, under a minute: lints, unit tests, and what needs neither root nor another program.
check:
	@scripts/compilers.sh
	@cargo run --quiet --locked -p fsderby-gate -- check

# The gate, within 30 minutes. What it cannot do here it says and counts. Some of its tests: make test PART="host pure::tidy"
test:
	@scripts/compilers.sh
	@cargo run --quiet --locked -p fsderby-gate -- test $(PART)

# What takes longer, all of it or by name: make nightly PART="kills identity"
nightly:
	@cargo run --quiet --locked -p fsderby-gate -- nightly $(PART)

# 48 cells in virtual time, each three times with all CPUs busy: about an hour on two. One of three parts: make identity
# WORKLOADS=maildir-quick
identity: build
	scripts/identity.sh results/identity-$(shell date +%Y%m%d-%H%M%S) $(FSDERBY) $(WORKLOADS)

# Ratios of wall time, measured in alternation; a part of nightly.
bench:
	@scripts/setup.sh test
	cargo bench --locked --bench postmark
	cargo bench --locked --bench bonnie
	cargo bench --locked --bench engines
	cargo bench --locked --bench fio
