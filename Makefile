# Two commands: `make run` goes from an empty folder to a report, `make test` is the whole gate.

FSDERBY := target/$(shell rustc --print host-tuple)/release/fsderby
# What `make run` gives to `fsderby run`: make run RUN='quick --rounds 10'
RUN ?= quick

.PHONY: run race build check test bench lint identity

# With the testbed vm in RUN, QEMU and a kernel for the guests are fetched too.
run:
	@scripts/setup.sh $(if $(findstring vm,$(RUN)),guests,tools)
	@cargo build --release --locked --quiet
	@$(if $(findstring vm,$(RUN)),$(FSDERBY) kernel fetch --if-absent)
	@$(FSDERBY) run $(RUN)

# Its older name.
race: run

build:
	cargo build --release --locked

lint:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --quiet -- -D warnings

# The fast part, under a minute: everything that needs neither root nor another program.
check: lint
	cargo test --locked --workspace --lib --test scripted --test order --test tidy

# The whole gate. What it cannot do here it says and counts.
test: lint
	@scripts/setup.sh test
	@cargo run --quiet --locked -- kernel fetch --if-absent 6.12 || echo "without a kernel the tests of guests are skipped"
	@cargo run --quiet --locked -- kernel fetch --if-absent 6.1 || echo "without a second kernel the tests that compare two are skipped"
	@# The same inputs every time: what nobody wrote yet is looked for by hand (CONTRIBUTING.md), so that a change is
	@# not refused for a mistake that is older than it.
	FSDERBY_FUZZ_SECONDS=60 FSDERBY_FUZZ_SEED=1 cargo test --locked --workspace

# 48 cells in virtual time, each three times with all CPUs busy: about an hour on two, and no part of the gate.
identity: build
	scripts/identity.sh results/identity-$(shell date +%Y%m%d-%H%M%S) $(FSDERBY)

# Ratios of wall time, measured in alternation; they are no part of the gate.
bench:
	@scripts/setup.sh test
	cargo bench --locked --bench postmark
	cargo bench --locked --bench bonnie
	cargo bench --locked --bench engines
