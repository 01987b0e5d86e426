# SPDX-License-Identifier: MIT
# The lab: the model, QEMU, the guest, and one job for each run.
#
# Whether a run's results hold is decided while this is read, by their identity (lab/cell/planning.py); the runs that do
# not hold get an input that is newer than any result. What they need is ancient(): when it was built decides nothing. Things are built
# again when their stamp, which has the hash of sources and tools in its name, or their receipt (lab/cell/built.py) is
# missing.
#
# Rules of built things have no input on purpose: a job that Snakemake 9 re-runs for its input's sake hides all that
# is missing behind its ancient() output, and the report would end without a word (dag.py, update_needrun, `masked`).


from pathlib import Path

STEP = call("lab.cell.step")
MODEL = built_files("disk")
QEMU = built_files("qemu")
GUEST = built_files("guest")
VOLUMES = built_files("volumes")
BINDINGS = built_files("bindings")


WORKLOADS = list(dict.fromkeys(name for run in RUNS.values() for name in run.workloads))
STARTS = [start for start in map(identity.start_of, RUNS.values()) if start is not None]
# Papers with the same assumptions share an image.
IMAGES = {tuple(image_files(image)): image for image in [*STARTS, *(start.empty for start in STARTS)]}
IMAGE_NAMES = [image.name for image in IMAGES.values()]
TITLES = {image: image_title(image, IMAGE_NAMES.count(image.name) > 1) for image in IMAGES.values()}


MAKE_MODEL = build_command(
    "disk", f"--name 'disk model' --about '3 min' --log {BUILD}/logs/model.log", "lab/disk/build.sh"
)
BUILD_MODEL = f"CARGO_TARGET_DIR={BUILD}/disk {MAKE_MODEL}"


rule model:
    output:
        MODEL,
    log:
        f"{BUILD}/logs/model.log",
    threads: workflow.cores
    shell:
        BUILD_MODEL


rule bindings:
    output:
        BINDINGS,
    log:
        f"{BUILD}/logs/bindings.log",
    threads: workflow.cores
    shell:
        build_command(
            "bindings",
            "--name 'Python library of the disk model' --about '3 min' --log {log}",
            f"lab/disk/python/build.sh {BUILD} {PYTHON}",
        )


rule qemu:
    output:
        QEMU,
    log:
        f"{BUILD}/logs/qemu.log",
    threads: workflow.cores
    shell:
        BUILD_MODEL
        + " && SPINDLE_JOBS={threads} "
        + build_command("qemu", "--share disk --name QEMU --about '4 min' --log {log}", "lab/qemu/build.sh")


rule guest:
    output:
        GUEST,
    log:
        f"{BUILD}/logs/guest.log",
    shell:
        build_command("guest", "--name 'guest image' --about '2 min' --log {log}", call("lab.guest.build"))


rule volumes:
    output:
        VOLUMES,
    log:
        f"{BUILD}/logs/volumes.log",
    shell:
        build_command("volumes", "--name 'volume managers' --about '30 s' --log {log}", call("lab.volumes.build"))


# No report asks for these: only rows that name such a guest do. It takes the locks that it needs itself.
for guest in sorted({run.guest.name for run in RUNS.values() if not run.guest.lean}):

    rule:
        name:
            f"guest_{guest}"
        input:
            ancient(MODEL),
            ancient(QEMU),
        output:
            built_files(f"guests/{guest}"),
        log:
            f"{BUILD}/logs/guest-{guest}.log",
        params:
            guest=guest,
        shell:
            f"{STEP} --name 'guest {{params.guest}}' --about '5 min' --log {{log}} -- "
            + call("lab.guests.prepare {params.guest}")


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
            build_command(
                "workloads/{params.workload}",
                "--name 'workload {params.workload}' --about '10 s' --log {log}",
                call("workloads.build {params.workload}"),
            )


for image in IMAGES.values():

    rule:
        name:
            f"image_{TITLES[image]}"
        input:
            ancient(MODEL),
            ancient(QEMU),
            ancient(GUEST),
            ancient(volume_tools(image.array)),
            ancient([] if image.workload is None else [*image_files(image.empty), *workload_image(image.workload)]),
        output:
            image_files(image),
        log:
            f"{BUILD}/logs/image-{TITLES[image]}.log",
        # What many runs wait for comes first.
        priority: 0 if image.workload is None else 2
        params:
            about=images.about(image),
            image=TITLES[image],
            what=f"--file-system {image.file_system} --drive {image.drive} --array {image.array}"
            + ("" if image.workload is None else f" --workload {image.workload} --scale {image.scale}")
            + "".join(f" --set {word}" for word in image.set)
            + ("" if image.paper == PAPERS[0] else f" --paper {image.paper}")
            + (f" --asked {image_files(image)[0]}" if PLAN.image_paths(image) is None else ""),
        shell:
            f"{STEP} --share disk --share guest --share qemu "
            "--name 'image {params.image}' --about '{params.about}' --log {log} -- "
            + call("lab.cell.images {params.what}")


rule lab:
    input:
        MODEL,
        QEMU,
        GUEST,
        list(dict.fromkeys(file for run in RUNS.values() for file in guest_files(run))),
        [workload_image(name) for name in WORKLOADS],
        list(dict.fromkeys(file for run in RUNS.values() for file in volume_tools(run.array))),


rule drive:
    input:
        program=ancient(MODEL),
        entry="lab/disk/catalogue/drives/{drive}.toml",
    output:
        f"{BUILD}/disk/show/{{drive}}.json",
    log:
        f"{BUILD}/logs/drive-{{drive}}.log",
    params:
        # The program that shows it.
        sources=built.thing_sources(built.THINGS["disk"]),
    shell:
        f"{BUILD}/disk/release/spindle-disk show {{wildcards.drive}} --json >{{output}} 2>{{log}}"


for run_id, run in ({} if RENDERING else RUNS).items():

    rule:
        name:
            f"run_{run_id}"
        input:
            ancient(MODEL),
            ancient(QEMU),
            ancient(guest_files(run)),
            ancient(volume_tools(run.array)),
            [ancient(workload_image(name)) for name in run.workloads],
            ancient(start_image(run)),
            planning.again() if run_id in STALE or planning.lacks_results(PROFILE, run) else [],
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
            call(f"lab.cell.progress --profile {PROFILE} --run {{params.run}}")
