# SPDX-License-Identifier: MIT
# make report [PROFILE=smoke|quick|full]   everything, from a bare Debian 12 machine to results/<profile>/report.pdf
# make report PAPER=NAME                   the same of one folder of paper/: results/<profile>/NAME/report.pdf
# make lab                                 only build the lab: QEMU, disk model, guest, tools of arrays, workloads
# make part PROFILE=full MINUTES=110       as many runs as fit into this time; the same command goes on where it stopped
# make export PROFILE=full FILE=a.tar.zst  finished results into one file
# make import PROFILE=full FILE=a.tar.zst  take them in another checkout, if they were made from the same sources
# make test                                the whole gate, as in CI
# make check                               its parts that need no lab and are quick: formats, lints, tests of Python, Rust and planning
# make nightly                             what takes longer; leaves its outcome in docs/nightly.md
# make bench BASE=DIR                      QEMU and model of two build directories side by side, in processor time
# make determinism [REBUILD=1]             runs twice, once beside a CPU hog; REBUILD=1: a second build as well
# make validation TRACES=DIR               the disk model against measured traces of real drives (DiskSim's validation set)
# make guest NAME=debian                   prepare another guest, from packages or (MEDIA=FILE SHA256=...) a medium
# make guests                              the same cells on the lean Linux and on Debian: results/guests/guests.md
# make doctor                              what is missing on this machine, and how to get it
# make bootstrap                           only install what is needed
# make box NAME=linux|freebsd|windows [DISK=FILE]   pack a system's disk for Vagrant (vagrant/README.md)
# make relock                              move the locks on purpose: Python, guest packages and their toolchain, volume managers
# make bindings                            the disk model as a Python library, for build/venv (lab/disk/python/README.md)
# make notebooks                           run the notebooks: results/smoke/notebooks/ (notebooks/README.md)
# make slurm                               what `spindle --slurm` needs beside Slurm itself (docs/commands.md)
# make mutants                             small changes of the code against the tests: docs/mutants.md (hours)
# make clean                               drop built things and results (build/cache stays)
PROFILE ?= quick
BUILD := $(if $(SPINDLE_BUILD),$(SPINDLE_BUILD),build)
BIN := $(BUILD)/venv/bin
# The command `spindle` of this checkout, also where another one made the environment (SPINDLE_BUILD).
SPINDLE := $(BIN)/python -m cli

TRACES ?= ../shared/disks/disksim

MINUTES ?= 110
SUBMAKE := $(MAKE) --no-print-directory

.PHONY: help report lab box part export import test check nightly bench determinism validation guest guests bindings notebooks slurm mutants doctor bootstrap relock clean
.PHONY: .clean
help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

bootstrap:
	@envs/bootstrap build tex test

report:
	@envs/bootstrap build tex
	@$(SPINDLE) report --profile $(PROFILE)$(if $(PAPER), --paper $(PAPER))

lab: PROFILE := full
lab:
	@envs/bootstrap build
	@$(SPINDLE) lab --profile $(PROFILE)

part:
	@envs/bootstrap build
	@$(SPINDLE) run --profile $(PROFILE) --minutes $(MINUTES)$(if $(TARGET), $(TARGET))

import export:
	@envs/bootstrap --paths
	@test -n "$(FILE)" || { echo "make $@: which file? make $@ PROFILE=$(PROFILE) FILE=part1.tar.zst" >&2; exit 1; }
	@envs/bootstrap --installed
	@$(SPINDLE) $@ --profile $(PROFILE) "$(FILE)"

test:
	@envs/bootstrap build tex test
	@$(BIN)/python tests/gate.py gate

check:
	@envs/bootstrap build tex test
	@$(BIN)/python tests/gate.py check

nightly:
	@envs/bootstrap build tex test slurm slurm-node
	@$(BIN)/python tests/gate.py nightly --report docs/nightly.md

bench:
	@envs/bootstrap --paths
	@test -d "$(BASE)" || { echo "make bench: there is no build directory '$(BASE)'; BASE=DIR names build/ of the checkout to compare with" >&2; exit 1; }
	@envs/bootstrap --installed
	@$(BIN)/python -m lab.qemu.bench --base "$(abspath $(BASE))" --new "$(abspath $(BUILD))"

determinism:
	@envs/bootstrap build
	@$(SPINDLE) lab --profile smoke
	@$(BIN)/python -m lab.cell.determinism $(if $(REBUILD),--rebuild)

validation:
	@envs/bootstrap --paths
	@test -d "$(TRACES)" || { echo "make validation: there is no folder '$(TRACES)'; TRACES=DIR names the one with DiskSim's .diskspecs, .model, .seek and .trace files" >&2; exit 1; }
	@envs/bootstrap build
	@cd lab/disk && SPINDLE_TRACES="$(abspath $(TRACES))" cargo test --profile checked --quiet --test validation -- --nocapture

guest:
	@envs/bootstrap --paths
	@test -n "$(NAME)" || { echo "make guest: which guest? make guest NAME=debian; lab/guests/ has the others" >&2; exit 1; }
	@envs/bootstrap build guests
	@$(SPINDLE) lab --profile smoke
	@$(BIN)/python -m lab.guests.prepare "$(NAME)" --medium "$(MEDIA)" --sha256 "$(SHA256)"

guests:
	@envs/bootstrap build guests
	@$(SPINDLE) run --profile guests guests_table
	@echo "results/guests/guests.md is ready"

bindings:
	@envs/bootstrap build
	@$(BIN)/snakemake --profile config/profiles/smoke bindings

notebooks:
	@envs/bootstrap build notebooks
	@PATH="$(abspath $(BIN)):$$PATH" $(SPINDLE) run --profile smoke notebooks
	@echo "results/smoke/notebooks/ has the notebooks with what they printed, and their figures"

slurm:
	@envs/bootstrap build slurm

mutants:
	@envs/bootstrap build test
	@envs/mutants
	@$(BIN)/python tests/mutants.py python
	@$(BIN)/python tests/mutants.py model
	@$(BIN)/python tests/mutants.py page

doctor:
	@envs/bootstrap --doctor build tex test

box:
	@envs/bootstrap build guests boxes
	@test -n "$(NAME)" || { echo "make box: which system? make box NAME=linux; others are freebsd and windows" >&2; exit 1; }
	@$(BIN)/python -m vagrant.box "$(NAME)" $(if $(DISK),--disk "$(DISK)")

relock:
	@envs/bootstrap build
	@$(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url --no-emit-find-links \
		--no-annotate --no-header --upgrade --output-file envs/requirements.lock envs/requirements.in
	@$(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url --no-emit-find-links \
		--no-annotate --no-header --upgrade --output-file envs/notebooks.lock envs/notebooks.in
	@$(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url --no-emit-find-links \
		--no-annotate --no-header --upgrade --output-file envs/slurm.lock envs/slurm.in
	@$(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url --no-emit-find-links \
		--no-annotate --no-header --upgrade --output-file envs/validator.lock envs/validator.in
	@$(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url --no-emit-find-links \
		--no-annotate --no-header --upgrade --output-file envs/mutants.lock envs/mutants.in
	@$(BIN)/python -m lab.guest.relock
	@$(BIN)/python -m lab.volumes.relock

# The locks stay, because a file that somebody waits at must not go. The machine's own Python runs this.
BUILT := bindings boxes disk domains filesystems guest guest.tmp guests identity logs mutants qemu rebuild run tmp venv volumes wine workloads
clean:
	@envs/bootstrap --paths
	@PYTHONDONTWRITEBYTECODE=1 $(or $(PYTHON),python3) -m lab.cell.lock --alone --refuse --what 'make clean' clean results -- \
		$(SUBMAKE) .clean

.clean:
	rm -rf $(addprefix $(BUILD)/,$(BUILT)) .snakemake
	find results -mindepth 1 -maxdepth 1 ! -name .locks -exec rm -rf {} +
