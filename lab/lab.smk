# SPDX-License-Identifier: MIT
# The lab: the model, QEMU, the guest, and one job for each run.
#
# Built things are inputs through ancient(): whether a run is still valid is decided by the small identity files
# (lab/cell/identity.py), which change only when a source does, not by when something was built.


def identity_file(name):
    """Identity file of one input."""
    return f"{BUILD}/identity/{name}.json"


STEP = f"{PYTHON} -m lab.cell.step"


rule model:
    input:
        identity_file("model"),
    output:
        f"{BUILD}/disk/release/libspindle_disk.a",
        f"{BUILD}/disk/release/spindle-disk",
    log:
        f"{BUILD}/logs/model.log",
    threads: workflow.cores
    shell:
        # cargo leaves the time of what it need not rebuild; Snakemake would build it again and again.
        "CARGO_TARGET_DIR={BUILD}/disk {STEP} --name 'disk model' --about '1 min' --log {log} -- "
        "cargo build --release --locked --jobs {threads} --manifest-path lab/disk/Cargo.toml && touch -c {output}"


rule qemu:
    input:
        identity_file("qemu"),
        f"{BUILD}/disk/release/libspindle_disk.a",
    output:
        f"{BUILD}/qemu/qemu-system-x86_64",
    log:
        f"{BUILD}/logs/qemu.log",
    threads: workflow.cores
    shell:
        "SPINDLE_JOBS={threads} {STEP} --name QEMU --about '4 min' --log {log} -- lab/qemu/build.sh && touch -c {output}"


rule guest:
    input:
        identity_file("guest"),
    output:
        f"{BUILD}/guest/manifest.json",
        f"{BUILD}/guest/vmlinux",
        f"{BUILD}/guest/initramfs.cpio",
        f"{BUILD}/guest/root.erofs",
    log:
        f"{BUILD}/logs/guest.log",
    shell:
        "{STEP} --name 'guest image' --about '2 min' --log {log} -- {PYTHON} lab/guest/build.py && touch -c {output}"


rule lab:
    input:
        f"{BUILD}/qemu/qemu-system-x86_64",
        f"{BUILD}/guest/manifest.json",
        expand(f"{BUILD}/disk/show/{{drive}}.json", drive=sorted({run.drive for run in RUNS.values()})),


rule drive:
    input:
        identity_file("drive-{drive}"),
        program=ancient(f"{BUILD}/disk/release/spindle-disk"),
        model=identity_file("model"),
    output:
        f"{BUILD}/disk/show/{{drive}}.json",
    log:
        f"{BUILD}/logs/drive-{{drive}}.log",
    shell:
        "{input.program} show {wildcards.drive} --json >{output} 2>{log}"


for run_id, run in RUNS.items():

    rule:
        name:
            f"run_{run_id}"
        input:
            [identity_file(name) for name in ("qemu", "model", "guest", "rawio", "reader")],
            identity_file(f"drive-{run.drive}"),
            identity_file(f"controller-{run.controller}"),
            identity_file(f"run-{PROFILE}-{run_id}"),
            ancient(f"{BUILD}/qemu/qemu-system-x86_64"),
            ancient(f"{BUILD}/guest/manifest.json"),
            ancient(f"{BUILD}/disk/show/{run.drive}.json"),
        output:
            [paths.result_path(PROFILE, cell.id) for cell in run.cells],
        log:
            f"results/{PROFILE}/logs/{run_id}.log",
        params:
            run=run_id,
        shell:
            "{PYTHON} -m lab.cell.run --profile {PROFILE} --run {params.run}"
