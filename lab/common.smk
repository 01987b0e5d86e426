# SPDX-License-Identifier: MIT
# Which files the lab's things consist of, and the commands that make them.


def call(command):
    """Shell command that runs one of our modules: its name, and what it is given."""
    return f"{PYTHON} -m {command}"


def logged(command):
    """The same command; what it prints goes to the rule's log and to the screen."""
    return f"{call(command)} 2>&1 | tee {{log}}"


def built_files(name):
    """The receipt of a built thing, and its stamp. What it consists of is no output: Snakemake would remove that before
    the rule holds the lock, under the feet of whoever boots it. A missing file is found by its receipt."""
    return [f"{BUILD}/{name}/{built.RECEIPT}", f"{BUILD}/{name}/{built.stamp(name)}"]


def build_command(name, step, command):
    """Shell command that builds a thing and writes its receipt, as a step (lab/cell/step.py) that holds it alone."""
    return f"{call('lab.cell.step')} --alone {name} {step} -- {call('lab.cell.built')} {name} -- {command}"


def guest_files(run):
    """The guest that a run boots."""
    return built_files(run.guest.thing)


def workload_image(name):
    """A workload's image, its receipt and its stamp."""
    return built_files(f"workloads/{name}")


def image_files(image):
    """Files of an image of a file system. While something is not built that makes it, nobody knows its name: then it is
    a note that the image was asked for."""
    files = PLAN.image_paths(image)
    if files is None:
        # Nor does anybody know then whether papers share it.
        return [f"{BUILD}/filesystems/.{image_title(image, image.paper != PAPERS[0])}.asked"]
    return [str(path) for path in files]


def image_title(image, with_paper):
    """An image's name, with its paper behind it where that says more."""
    return f"{image.name}.{image.paper}" if with_paper else image.name


def volume_tools(array):
    """What a software array needs."""
    return VOLUMES if volumes.software(array) else []


def start_image(run):
    """The image that a run's disk starts from, if it has a file system."""
    start = identity.start_of(run)
    return [] if start is None else image_files(start)
