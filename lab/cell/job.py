# SPDX-License-Identifier: MIT
"""Text of the job disk, of the topology file, and of the QEMU command of one run. Pure: cells in, text out."""

from decimal import Decimal

from lab.cell import catalogue, config, filesystems
from lab.cell.cells import Cell, Run, preparation

CONTROL_SECTORS = 8
"""Sectors 0-7 of the job disk are the control area; the text begins at sector 8."""
JOB_TEXT_BYTES = 64 * 1024
"""Length of every job's text, with the NUL that ends it. Constant, because the guest reads it: else a cell's result
would depend on how many cells come after it."""
SHUTDOWN_LABEL = "shutdown"
"""Marker after the last cell."""
SYSTEM_LATENCY_NS = 20_000
"""Fixed latency of root, job disk and workloads. They are outside every measurement, but must not complete at once."""
IMAGE_LABEL = "image"
"""Marker before the commands that make a file system, or put something on it."""
FILL_DIRTY_BYTES = 192 << 20
CHECK_LABEL = "check"
"""Marker before the check of a file system."""
MOUNT_POINT = "/mnt"
PROGRAMS = {"rawio": "rawio", "fio": "fio-rawio"}
"""Program of a workload of the device itself; both take the same options."""
FS_PROGRAMS = {"fio": "fio-mix"}
"""Program of a workload on a file system, where it is not called like the workload."""
VM = "/proc/sys/vm"


def disk_settings(run: Run, cell: Cell) -> list[tuple[str, str]]:
    """Files in /sys of the disk under test and their values, in the order they are to be written."""
    limits = catalogue.controller(run.controller)
    queue = f"/sys/block/{limits.disk}/queue"

    def value(key: str) -> str:
        return str(config.assumption(run.paper, key))

    def dirty(key: str) -> int:
        # All limits shrink by one factor, so that what is kept stays below what stops a writer.
        whole = Decimal(config.assumption(run.paper, "fs_dirty_bytes"))
        share = max(Decimal(cell.scale), config.assumption(run.paper, "fs_dirty_least_bytes") / whole)
        return int(config.assumption(run.paper, key) * share) & ~4095

    requests = value("host_requests" if cell.raw else "fs_host_requests")

    settings = []
    if limits.max_tags > 1:
        # First, because the elevator's own limits follow from it.
        settings.append((f"/sys/block/{limits.disk}/device/queue_depth", str(cell.depth)))
    order = "on" if cell.host_scheduler else "off"
    settings += [
        (f"{queue}/scheduler", value("host_elevator")),
        # After the elevator: choosing one resets the number of requests.
        (f"{queue}/nr_requests", requests),
        # mq-deadline lets writes have part of them only, and computes that part from the old number when
        # nr_requests changes (Linux 6.1, dd_depth_updated): writes then queue up before it, unsorted.
        (f"{queue}/iosched/async_depth", requests),
        (f"{queue}/iosched/read_expire", value(f"host_{order}_expire_ms")),
        (f"{queue}/iosched/write_expire", value(f"host_{order}_expire_ms")),
        (f"{queue}/iosched/fifo_batch", value(f"host_{order}_batch")),
        (f"{queue}/iosched/writes_starved", value("host_writes_starved")),
        (f"{queue}/iosched/front_merges", "0"),
    ]
    settings.append((f"{queue}/nomerges", value("host_merges" if cell.raw else "fs_host_merges")))
    if not cell.raw:
        settings += [
            # No flushes: the kernel is not to know of the drive's write cache, which stays on.
            (f"{queue}/write_cache", "write through"),
            (f"{queue}/wbt_lat_usec", value("fs_write_throttle_us")),
            (f"{queue}/max_sectors_kb", value("fs_request_kib")),
            # Linux gives a disk a part of fs_dirty_background_bytes, by what it wrote of late: nothing at first, so
            # that every visit of the syncer writes all. This gives the one disk all of it, as near as it can be.
            (f"/sys/block/{limits.disk}/bdi/min_ratio", "99"),
            (f"{VM}/dirty_bytes", str(dirty("fs_dirty_bytes"))),
            (f"{VM}/dirty_background_bytes", str(dirty("fs_dirty_background_bytes"))),
            (f"{VM}/dirty_expire_centisecs", value("fs_dirty_expire_cs")),
            (f"{VM}/dirty_writeback_centisecs", value("fs_syncer_cs")),
        ]
        kept_kib = dirty("fs_kept_metadata_bytes") >> 10
        about = filesystems.file_system(cell.file_system)
        settings += [(file, value.format(kept_kib=kept_kib)) for file, value in about.settings]
    return settings


def workload_command(run: Run, cell: Cell) -> str:
    """The command line of a cell's workload in the guest."""
    if not cell.raw:
        words = [f"--{key} {value}" for key, value in cell.parameters.items()]
        program = FS_PROGRAMS.get(cell.workload, cell.workload)
        command = [program, "--dir", MOUNT_POINT, "--seed", str(cell.seed), "--scale", cell.scale, *words]
        prepared = preparation(cell.workload)
        if prepared:
            command.append(prepared["options"])
        if cell.scale != "1":
            memory = config.assumption(run.paper, "memory_mib") << 20
            least = config.assumption(run.paper, "fs_confined_least_mib") << 20
            command = ["confined", str(max(least, int(memory * Decimal(cell.scale)) & ~4095)), *command]
        return " ".join(command)
    disk = catalogue.controller(run.controller).disk
    return (
        f"{PROGRAMS[cell.workload]} --device /dev/{disk} --op {cell.parameters['op']}"
        f" --pattern {cell.parameters['pattern']} --seed {cell.seed}"
        f" --bytes {config.assumption(run.paper, 'transfer_bytes')}"
        f" --request-bytes {config.assumption(run.paper, 'request_bytes')}"
        f" --children {config.assumption(run.paper, 'children')}"
        f" --span-bytes {config.assumption(run.paper, 'random_span_bytes')}"
    )


def mount_line(file_system: str, device: str) -> str:
    """The job's line that mounts a file system."""
    about = filesystems.file_system(file_system)
    if about.mount_command:
        return f"exec {about.mount_command.format(device=device)}"
    return f"exec mount -t {about.mount_type} -o {about.mount_options} {device} {MOUNT_POINT}"


def check_lines(file_system: str, device: str) -> list[str]:
    """The job's lines that check a file system, behind a marker of their own."""
    check = filesystems.file_system(file_system).check.format(device=device)
    return [f"cell {CHECK_LABEL} 1", f"exec {check}", "end"]


def on_file_system(file_system: str, device: str, command: str) -> list[str]:
    """The job's lines behind a marker that run a command on a file system, end what the marker began, and check."""
    mount = mount_line(file_system, device)
    return [mount, f"exec {command}", f"exec umount {MOUNT_POINT}", "end", *check_lines(file_system, device)]


def fill_script(cell: Cell) -> tuple[str, ...]:
    """The job's lines that put on a file system what a workload wants there, and check it.

    Not measured, so the kernel may keep more dirty data than in cells: what is rewritten reaches the disk less often.
    """
    device = f"/dev/{catalogue.controller(cell.controller).disk}"
    command = preparation(cell.workload)["command"].format(dir=MOUNT_POINT, scale=cell.scale)
    return (
        f"set {VM}/dirty_bytes {FILL_DIRTY_BYTES}",
        f"set {VM}/dirty_background_bytes {FILL_DIRTY_BYTES // 2}",
        f"cell {IMAGE_LABEL} 1",
        *on_file_system(cell.file_system, device, command),
    )


def cell_lines(run: Run, cell: Cell) -> list[str]:
    """What the job does between a cell's marker and its end, and after it."""
    command = workload_command(run, cell)
    if cell.raw:
        return [f"exec {command}", "end"]
    return on_file_system(cell.file_system, f"/dev/{catalogue.controller(run.controller).disk}", command)


def job_text(run: Run, until: Cell | None = None) -> str:
    """The job of a run; with `until`, only up to the end of that cell (what decides its result)."""
    limits = catalogue.controller(run.controller)
    needed = [
        name for cell in run.cells[:1] if not cell.raw for name in filesystems.file_system(cell.file_system).modules
    ]
    lines = ["spindle-job 1", f"modules {' '.join([*limits.modules, *needed])}", f"wait_disk {limits.disk}"]
    lines += [f"workload {name}" for name in run.workloads]
    lines += [f"set {path} {value}" for path, value in disk_settings(run, run.cells[0])]
    lines += run.script
    for cell in () if run.script else run.cells:
        lines += [f"cell {cell.id} {cell.seed}", *cell_lines(run, cell)]
        if cell == until:
            return "\n".join(lines) + "\n"
    # The guest flushes the disk's cache as it stops; without a marker that would stand in the last cell's trace.
    return "\n".join([*lines, f"cell {SHUTDOWN_LABEL} 1", "end", "poweroff"]) + "\n"


def job_disk(text: str) -> bytes:
    """The job disk: an empty control area, then the text, filled up with empty lines."""
    data = text.encode()
    if len(data) >= JOB_TEXT_BYTES:
        raise ValueError(
            f"the job has {len(data)} bytes, the job disk room for {JOB_TEXT_BYTES}; "
            "share the run's cells out to more runs, or raise JOB_TEXT_BYTES in lab/cell/job.py"
        )
    return bytes(512 * CONTROL_SECTORS) + data.ljust(JOB_TEXT_BYTES - 1, b"\n") + b"\0"


def topology_text(run: Run, catalogue_path: str) -> str:
    """The topology file: the disk under test on its bus, and null units for root, job disk and workloads."""
    limits = catalogue.controller(run.controller)
    cache = "true" if config.assumption(run.paper, "write_cache") else "false"
    queue = config.assumption(run.paper, "disk_scheduler_on" if run.cells[0].disk_scheduler else "disk_scheduler_off")
    null_units = "".join(
        f'\n[[unit]]\nname = "{name}"\nnull_latency_ns = {SYSTEM_LATENCY_NS}\n'
        for name in ("system", "job", *(f"workload-{name}" for name in run.workloads))
    )
    return (
        f'schema = "spindle-topology/1"\ncatalogue = "{catalogue_path}"\n'
        f'\n[[bus]]\nname = "bus0"\nentry = "{limits.bus}"\n'
        f'\n[[unit]]\nname = "disk0"\ndrive = "{run.drive}"\nbus = "bus0"\nmax_tags = {limits.max_tags}\n'
        f'queue = "{queue}"\nwrite_cache = {cache}\n{null_units}'
    )


def time_limit_s(run: Run) -> int:
    """Virtual seconds after which a run counts as hung."""
    limit = "limit_cell_s" if run.cells[0].raw else "limit_fs_cell_s"
    return config.assumption(run.paper, "limit_setup_s") + len(run.cells) * config.assumption(run.paper, limit)


def qemu_command(run: Run, build: str, work: str, kernel_append: str) -> list[str]:
    """QEMU's command line. `build` and `work` are the build directory and the run's own."""
    limits = catalogue.controller(run.controller)
    ns = config.assumption(run.paper, "cpu_ns_per_instruction")
    shift = ns.bit_length() - 1
    if ns != 1 << shift:
        raise ValueError(f"cpu_ns_per_instruction is {ns}; QEMU's clock can count 1, 2, 4, ... ns an instruction")

    def blockdev(node: str, filename: str, unit: str, *options: str) -> list[str]:
        head = f"driver=spindle,node-name={node},filename={filename},topology={work}/topology.toml,unit={unit}"
        return ["-blockdev", ",".join([head, *options])]

    def virtio(node: str, serial: str | None = None) -> list[str]:
        # ioeventfd would hand requests over by a host thread, at the host's time.
        return ["-device", f"virtio-blk-pci,drive={node},serial={serial or node},ioeventfd=off"]

    cache = "on" if config.assumption(run.paper, "write_cache") else "off"
    command = [f"{build}/qemu/qemu-system-x86_64", "-L", f"{build}/guest/firmware"]
    command += ["-machine", "pc", "-cpu", "qemu64", "-accel", "tcg,thread=single,tb-size=256"]
    command += [
        "-icount",
        f"shift={shift},sleep=off,lockstep=on",
        "-seed",
        "1",
        "-rtc",
        "clock=vm,base=2000-11-22T00:00:00",
    ]
    command += ["-m", str(config.assumption(run.paper, "memory_mib"))]
    command += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
    command += ["-kernel", f"{build}/guest/vmlinux", "-initrd", f"{build}/guest/initramfs.cpio"]
    command += ["-append", kernel_append]
    command += ["-serial", f"file:{work}/console.log", "-serial", f"file:{work}/agent.log"]
    command += blockdev("root", f"{build}/guest/root.erofs", "system", f"trace={work}/io.trace", "read-only=on")
    command += virtio("root")
    command += blockdev("job", f"{work}/job.img", "job", "control=on", f"time-limit-s={time_limit_s(run)}")
    command += virtio("job")
    for name in run.workloads:
        unit = f"workload-{name}"
        command += blockdev(unit, f"{build}/workloads/{name}.erofs", unit, "read-only=on") + virtio(unit, name)
    command += blockdev("disk", f"{work}/disk.img", "disk0", f"write-cache={cache}")
    if limits.device:
        command += ["-device", limits.device]
    command += ["-device", limits.disk_device.format(node="disk")]
    return command
