# SPDX-License-Identifier: MIT
# The notebooks, run from the first cell to the last. What they leave lies below results/smoke/notebooks/: the notebook
# with all that it printed, and its figures. They read results of the profile smoke, and Snakemake measures what is
# missing. `make notebooks` installs Jupyter before.


NOTEBOOKS = {
    # Its name, the figures that it leaves, and the cells that it reads.
    "cell_of_a_table": (("trace", "times", "tags"), ["scsi-virtio.ultrastar-36zx.t32.both.rawio-read-random.s01"]),
    "drive_at_work": (("seek", "rotation", "zones", "scheduling"), []),
    "file_systems": (("where", "again", "waiting"), [postmark_of("ffs"), postmark_of("softupdates")]),
    "your_own_experiment": (("turn",), []),
}


if PROFILE == "smoke":

    rule notebooks:
        input:
            [figures_of(name) for name in NOTEBOOKS],

    for name, (_, read) in NOTEBOOKS.items():

        rule:
            name:
                f"notebook_{name}"
            input:
                f"notebooks/{name}.ipynb",
                "notebooks/around.py",
                ancient(BINDINGS),
                [paths.result_path(PROFILE, cell) for cell in read],
            output:
                figures_of(name),
            log:
                notebook=f"results/smoke/notebooks/{name}.ipynb",
            params:
                # Which notebook is run is only asked when the job runs, and `name` is the last one by then.
                name=name,
            notebook:
                "{params.name}.ipynb"
