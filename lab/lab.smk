# SPDX-License-Identifier: MIT
# The lab: the model, QEMU, the guest, and one job for each run.
#
# Whether a run is still valid is decided by the small identity files (lab/cell/identity.py), which change only when a
# source does. Built things are inputs through ancient(): when they were built decides nothing. They are built again
# when their stamp, which has the sources' hash in its name, is missing.
#
# Rules of built things have no input on purpose: a job that Snakemake 9 re-runs for its input's sake hides all that
# is missing behind its ancient() output, and the report would end without a word (dag.py, update_needrun, `masked`).


from pathlib import Path


def identity_file(name):
    """Identity file of one input."""
    return f"{BUILD}/identity/{name}.json"


def built(folder, *names):
    """Files of a built folder, and its stamp."""
    return [f"{BUILD}/{folder}/{name}" for name in (*names, identity.stamp(folder))]


STEP = f"{PYTHON} -m lab.cell.step"
MODEL = built("disk", "release/libspindle_disk.a", "release/spindle-disk")
QEMU = built("qemu", "qemu-system-x86_64")
GUEST = built("guest", "manifest.json", "vmlinux", "initramfs.cpio", "root.erofs")
VOLUMES = built("volumes", "manifest.json", "tools.erofs")


def workload_image(name):
    """A workload's image, and its stamp."""
    return [f"{BUILD}/workloads/{name}.erofs", f"{BUILD}/workloads/{name}/{identity.stamp(f'workloads/{name}')}"]


def image_files(image):
    """Files of an image of a file system."""
    return [str(path) for path in identity.image_paths(Path(BUILD), image)]


def volume_tools(array):
    """What a software array needs."""
    return VOLUMES if volumes.software(array) else []


def start_image(run):
    """The image that a run's disk starts from, if it has a file system."""
    start = identity.start_of(run)
    return [] if start is None else image_files(start)


def image_about(image):
    """How long an image takes, for the message."""
    if image.workload is None:
        return "20 s"
    if image.scale != "1":
        return "2 min or less"
    return "10 min" if image.array == volumes.NONE else "15 min"


WORKLOADS = list(dict.fromkeys(name for run in RUNS.values() for name in run.workloads))
STARTS = [start for start in map(identity.start_of, RUNS.values()) if start is not None]
# Papers with the same assumptions share an image.
IMAGES = {tuple(image_files(image)): image for image in [*STARTS, *(start.empty for start in STARTS)]}
IMAGE_NAMES = [image.name for image in IMAGES.values()]


def image_rule(image):
    """Name of the rule that makes an image: with its paper only where papers differ."""
    return f"image_{image.name}" + (f".{image.paper}" if IMAGE_NAMES.count(image.name) > 1 else "")


BUILD_MODEL = (
    f"CARGO_TARGET_DIR={BUILD}/disk {STEP} --name 'disk model' --about '1 min' --log {BUILD}/logs/model.log -- "
    "cargo build --release --locked --manifest-path lab/disk/Cargo.toml"
)


rule model:
    output:
        MODEL,
    log:
        f"{BUILD}/logs/model.log",
    threads: workflow.cores
    shell:
        "rm -f {BUILD}/disk/built-*; {BUILD_MODEL} && touch {output}"


rule qemu:
    output:
        QEMU,
    log:
        f"{BUILD}/logs/qemu.log",
    threads: workflow.cores
    shell:
        "rm -f {BUILD}/qemu/built-*; {BUILD_MODEL} && "
        "SPINDLE_JOBS={threads} {STEP} --name QEMU --about '4 min' --log {log} -- lab/qemu/build.sh && touch {output}"


rule guest:
    output:
        GUEST,
    log:
        f"{BUILD}/logs/guest.log",
    shell:
        "rm -f {BUILD}/guest/built-*; {STEP} --name 'guest image' --about '2 min' --log {log} -- "
        "{PYTHON} lab/guest/build.py && touch {output}"


rule volumes:
    output:
        VOLUMES,
    log:
        f"{BUILD}/logs/volumes.log",
    shell:
        "rm -f {BUILD}/volumes/built-*; {STEP} --name 'volume managers' --about '30 s' --log {log} -- "
        "{PYTHON} lab/volumes/build.py && touch {output}"


for name in WORKLOADS:

    rule:
        name:
            f"workload_{name}"
        output:
            workload_image(name),
        log:
            f"{BUILD}/logs/workload-{name}.log",
        params:
            workload=name,
        shell:
            "rm -f {BUILD}/workloads/{params.workload}/built-*; "
            "{STEP} --name 'workload {params.workload}' --about '10 s' --log {log} -- "
            "{PYTHON} -m workloads.build {params.workload} && touch {output}"


for image in IMAGES.values():

    rule:
        name:
            image_rule(image)
        input:
            ancient(MODEL),
            ancient(QEMU),
            ancient(GUEST),
            ancient(volume_tools(image.array)),
            ancient([] if image.workload is None else [*image_files(image.empty), *workload_image(image.workload)]),
        output:
            image_files(image),
        log:
            f"{BUILD}/logs/image-{image.name}.log",
        # What many runs wait for comes first.
        priority: 0 if image.workload is None else 2
        params:
            about=image_about(image),
            image=image.name,
            what=f"--file-system {image.file_system} --drive {image.drive} --array {image.array}"
            + ("" if image.workload is None else f" --workload {image.workload} --scale {image.scale}")
            + ("" if image.paper == PAPERS[0] else f" --paper {image.paper}"),
        shell:
            "{STEP} --name 'image {params.image}' --about '{params.about}' --log {log} -- "
            "{PYTHON} -m lab.cell.images {params.what}"


rule lab:
    input:
        QEMU,
        GUEST,
        [workload_image(name) for name in WORKLOADS],
        list(dict.fromkeys(file for run in RUNS.values() for file in volume_tools(run.array))),


rule drive:
    input:
        identity_file("drive-{drive}"),
        identity_file("model"),
        program=ancient(MODEL),
    output:
        f"{BUILD}/disk/show/{{drive}}.json",
    log:
        f"{BUILD}/logs/drive-{{drive}}.log",
    shell:
        "{BUILD}/disk/release/spindle-disk show {wildcards.drive} --json >{output} 2>{log}"


for run_id, run in RUNS.items():

    rule:
        name:
            f"run_{run_id}"
        input:
            [identity_file(name) for name in ("qemu", "model", "guest", "reader")],
            [identity_file(name) for name in run.workloads],
            identity_file(f"drive-{run.drive}"),
            identity_file(f"controller-{run.controller}"),
            [] if run.array == volumes.NONE else [identity_file("volumes"), identity_file(f"array-{run.array}")],
            identity_file(f"run-{PROFILE}-{run_id}"),
            ancient(MODEL),
            ancient(QEMU),
            ancient(GUEST),
            ancient(volume_tools(run.array)),
            [ancient(workload_image(name)) for name in run.workloads],
            ancient(start_image(run)),
            progress.asked_for(run_id),
        output:
            [paths.result_path(PROFILE, cell.id) for cell in run.cells],
        log:
            f"results/{PROFILE}/logs/{run_id}.log",
        # A run that is stopped half-way should have the rows of all tables that have both schedulers on.
        priority: 1 if ".both" in run_id else 0
        params:
            run=run_id,
        shell:
            "{PYTHON} -m lab.cell.progress --profile {PROFILE} --run {params.run}"
