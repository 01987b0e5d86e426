# SPDX-License-Identifier: MIT
"""Text of the job disk, of the topology file, and of the QEMU command of one run. Pure: cells in, text out."""

import json
import string
from collections.abc import Iterable
from decimal import Decimal

from lab.cell import catalogue, filesystems, guests, sweep, volumes
from lab.cell.cells import Cell, Run, preparation
from lab.cell.settings import Settings

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
ARRAY_LABEL = "array"
"""Marker before an array is started."""
MOUNT_POINT = "/mnt"
SYSTEM_FILE = "system.img"
"""Copy of a prepared guest's system disk."""
PROGRAMS = {"rawio": "rawio", "fio": "fio-rawio"}
"""Program of a workload of the device itself with a fixed pattern; both take the same options."""
FS_PROGRAMS = {"fio": "fio-mix"}
"""Program of a workload on a file system, where it is not called like the workload."""
VM = "/proc/sys/vm"
SANDBOX = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"
"""System calls that QEMU does not need: it is ended if it makes one."""


def queue_settings(run: Run, cell: Cell, disk: str) -> list[tuple[str, str]]:
    """Files in /sys of a disk under test and their values, in the order to be written; `disk` is its folder there."""
    queue = f"{disk}/queue"

    def value(key: str) -> str:
        return str(run.settings.value(key))

    requests = value("host_requests" if cell.raw else "fs_host_requests")

    settings = []
    if catalogue.controller(run.controller).max_tags > 1:
        # First, because the elevator's own limits follow from it.
        settings.append((f"{disk}/device/queue_depth", str(cell.depth)))
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
    if cell.raw and cell.workload == sweep.WORKLOAD:
        if sweep.past_page_cache(cell.parameters):
            settings.append((f"{queue}/max_sectors_kb", value("sweep_request_kib")))
        else:
            # What the page cache asks of the disk.
            settings += [(f"{queue}/{name}", value("page_cache_kib")) for name in ("max_sectors_kb", "read_ahead_kb")]
    if not cell.raw:
        settings += [
            # No flushes: the kernel is not to know of the drive's write cache, which stays on.
            (f"{queue}/write_cache", "write through"),
            (f"{queue}/wbt_lat_usec", value("fs_write_throttle_us")),
            (f"{queue}/max_sectors_kb", value("fs_request_kib")),
        ]
    return settings


def file_system_settings(run: Run, cell: Cell, disk: str) -> list[tuple[str, str]]:
    """What a file system adds; `disk` is the folder in /sys of what it lies on, a disk or an array."""

    def value(key: str) -> str:
        return str(run.settings.value(key))

    def dirty(key: str) -> int:
        # All limits shrink by one factor, so that what is kept stays below what stops a writer.
        settings = run.settings
        share = Decimal(cell.scale)
        if share != 1:
            share = max(share, settings.value("fs_dirty_least_bytes") / Decimal(settings.value("fs_dirty_bytes")))
        return int(settings.value(key) * share) & ~4095

    def setting(text: str) -> str:
        # Asked for only where a file system has it: what is asked for is a part of the cell's identity.
        return text.format(kept_kib=dirty("fs_kept_metadata_bytes") >> 10) if "{kept_kib}" in text else text

    about = filesystems.file_system(cell.file_system)
    return [
        # Linux gives a disk a part of fs_dirty_background_bytes, by what it wrote of late: nothing at first, so
        # that every visit of the syncer writes all. This gives the one disk all of it, as near as it can be.
        (f"{disk}/bdi/min_ratio", "99"),
        (f"{VM}/dirty_bytes", str(dirty("fs_dirty_bytes"))),
        (f"{VM}/dirty_background_bytes", str(dirty("fs_dirty_background_bytes"))),
        (f"{VM}/dirty_expire_centisecs", value("fs_dirty_expire_cs")),
        (f"{VM}/dirty_writeback_centisecs", value("fs_syncer_cs")),
        *((file, setting(text)) for file, text in about.settings),
    ]


def disk_name(run: Run) -> str:
    """Kernel's name of what a run's cells use: the disk, or the software array."""
    array = volumes.software(run.array)
    if run.guest.settings_by == guests.COMMANDS:
        return run.guest.disk(run.controller)
    return array.disk if array else catalogue.controller(run.controller).disk


def device(run: Run) -> str:
    """Device file of the same."""
    array = volumes.software(run.array)
    if run.guest.settings_by == guests.COMMANDS:
        return run.guest.data["settings"]["device"].format(disk=disk_name(run))
    return array.volume.device if array else f"/dev/{catalogue.controller(run.controller).disk}"


def devices(run: Run) -> list[str]:
    """Device files of what a run's cells use; several where disks stand side by side."""
    array = volumes.software(run.array)
    return array.devices if array else [device(run)]


def command_settings(run: Run, cell: Cell) -> list[str]:
    """The job's lines that set up the disk under test of a guest whose settings are made by commands."""
    values = {
        "disk": disk_name(run),
        "tags": str(cell.depth),
        "sorting": str(int(cell.host_scheduler)),
        "write_cache": str(int(run.settings.value("write_cache"))),
    }
    keys = ["tags"] if catalogue.controller(run.controller).max_tags > 1 else []
    return exec_all(line for key in (*keys, "sorting", "write_cache") for line in run.guest.commands(key, **values))


def exec_all(commands: Iterable[str]) -> list[str]:
    """The job's lines that run commands."""
    return [f"exec {line}" for line in commands]


def file_system_lines(run: Run, file_system: str, key: str) -> list[str]:
    """The job's lines of a guest whose file systems are commands: `make`, `mount`, `unmount` or `check`."""
    commands = run.guest.data["file_systems"][file_system][key]
    return exec_all(line.format(device=device(run), disk=disk_name(run), at=MOUNT_POINT) for line in commands)


def make_lines(run: Run, file_system: str) -> list[str]:
    """The job's lines that make an empty file system."""
    if run.guest.settings_by == guests.COMMANDS:
        return file_system_lines(run, file_system, "make")
    return exec_all(line.format(device=device(run)) for line in filesystems.file_system(file_system).make)


def set_lines(settings: list[tuple[str, str]]) -> list[str]:
    """The job's lines that write files of the running kernel."""
    return [f"set {path} {value}" for path, value in settings]


def exec_lines(run: Run, array: volumes.Software, commands: tuple[str, ...]) -> list[str]:
    """The job's lines for commands of a software array."""
    return [f"exec {line}" for line in array.commands(commands, run.settings.value("array_stripe_kib"))]


def array_lines(run: Run, array: volumes.Software, cell: Cell) -> list[str]:
    """The job's lines from the disks of a software array to the array. On empty disks it is made: where cells use the
    device itself, and where a file system is made."""
    kind = array.volume
    lines = [f"exec name-disks {array.count}"]
    if kind.extra_modules:
        lines.append(f"exec load-modules {' '.join(kind.extra_modules)}")
    # Before the array is started: it takes over its members' limits.
    for number in range(array.count):
        folder = f"{volumes.LINKS}/disk{number}.sys"
        lines += set_lines(queue_settings(run, cell, folder))
        if cell.raw:
            # As with file systems: an array that notes its state flushes.
            lines.append(f"set {folder}/queue/write_cache write through")
    if array.apart:
        return lines
    # Behind a marker, because its end waits until what was written is on the disks; the next marker needs that.
    lines.append(f"cell {ARRAY_LABEL} 1")
    lines += [*exec_lines(run, array, kind.make if cell.raw else kind.assemble), f"wait_disk {array.disk}", "end"]
    if not cell.raw:
        queue = f"/sys/block/{array.disk}/queue"
        # Requests are as large as its disks' and the stripe unit allow. Linux would read ahead two stripes.
        ahead = str(run.settings.value("fs_read_ahead"))
        settings = [(f"{queue}/write_cache", "write through"), (f"{queue}/read_ahead_kb", ahead)]
        lines += set_lines(settings)
    return lines + set_lines(list(kind.settings))


def disk_lines(run: Run, cell: Cell) -> list[str]:
    """The job's lines that set up what a run's cells use."""
    if run.guest.settings_by == guests.COMMANDS:
        return command_settings(run, cell)
    array = volumes.software(run.array)
    folder = f"/sys/block/{disk_name(run)}"
    lines = array_lines(run, array, cell) if array else set_lines(queue_settings(run, cell, folder))
    return lines if cell.raw else lines + set_lines(file_system_settings(run, cell, folder))


def workload_command(run: Run, cell: Cell) -> str:
    """The command line of a cell's workload in the guest."""
    if not cell.raw:
        words = [f"--{key.replace('_', '-')} {value}" for key, value in cell.parameters.items()]
        program = FS_PROGRAMS.get(cell.workload, cell.workload)
        command = [program, "--dir", MOUNT_POINT, "--seed", str(cell.seed), "--scale", cell.scale, *words]
        prepared = preparation(cell.workload)
        if prepared:
            command.append(prepared["options"])
        if cell.scale != "1":
            memory = run.settings.value("memory_mib") << 20
            least = run.settings.value("fs_confined_least_mib") << 20
            command = ["confined", str(max(least, int(memory * Decimal(cell.scale)) & ~4095)), *command]
        return " ".join(command)
    if cell.workload == sweep.WORKLOAD:
        return sweep.command(cell.parameters, devices(run), cell.seed, run.settings)
    return (
        f"{PROGRAMS[cell.workload]} --device {device(run)} --op {cell.parameters['op']}"
        f" --pattern {cell.parameters['pattern']} --seed {cell.seed}"
        f" --bytes {run.settings.value('transfer_bytes')}"
        f" --request-bytes {run.settings.value('request_bytes')}"
        f" --children {run.settings.value('children')}"
        f" --span-bytes {run.settings.value('random_span_bytes')}"
    )


MOUNT_WORDS = {"{access_times}": "fs_access_times", "{name_lookup}": "fs_name_lookup"}
"""What stands in mount options for an assumption's value."""


def mount_line(settings: Settings, file_system: str, device: str) -> str:
    """The job's line that mounts a file system."""
    about = filesystems.file_system(file_system)
    if about.mount_command:
        return f"exec {about.mount_command.format(device=device)}"
    options = about.mount_options
    for word, assumption in MOUNT_WORDS.items():
        if word in options:
            options = options.replace(word, str(settings.value(assumption)))
    return f"exec mount -t {about.mount_type} -o {options} {device} {MOUNT_POINT}"


def check_lines(run: Run, cell: Cell) -> list[str]:
    """The job's lines that check the file system, and the software array below it, behind a marker of their own."""
    array = volumes.software(run.array)
    checks = []
    if not cell.raw and run.guest.settings_by == guests.COMMANDS:
        checks += file_system_lines(run, cell.file_system, "check")
    elif not cell.raw:
        checks.append(f"exec {filesystems.file_system(cell.file_system).check.format(device=device(run))}")
    if array:
        checks += exec_lines(run, array, array.volume.check)
    return [f"cell {CHECK_LABEL} 1", *checks, "end"]


def on_file_system(run: Run, cell: Cell, command: str) -> list[str]:
    """The job's lines behind a marker that run a command on a file system, end what the marker began, and check."""
    if run.guest.settings_by == guests.COMMANDS:
        mount, unmount = (file_system_lines(run, cell.file_system, key) for key in ("mount", "unmount"))
    else:
        mount = [mount_line(run.settings, cell.file_system, device(run))]
        unmount = [f"exec umount {MOUNT_POINT}"]
    return [*mount, f"exec {command}", *unmount, "end", *check_lines(run, cell)]


def fill_script(run: Run, cell: Cell) -> tuple[str, ...]:
    """The job's lines that put on a file system what a workload wants there, and check it.

    Not measured, so the kernel may keep more dirty data than in cells: what is rewritten reaches the disk less often.
    """
    command = preparation(cell.workload)["command"].format(dir=MOUNT_POINT, scale=cell.scale)
    return (
        f"set {VM}/dirty_bytes {FILL_DIRTY_BYTES}",
        f"set {VM}/dirty_background_bytes {FILL_DIRTY_BYTES // 2}",
        f"cell {IMAGE_LABEL} 1",
        *on_file_system(run, cell, command),
    )


def cell_lines(run: Run, cell: Cell) -> list[str]:
    """What the job does between a cell's marker and its end, and after it."""
    command = workload_command(run, cell)
    if cell.raw:
        return [f"exec {command}", "end"]
    return on_file_system(run, cell, command)


def marked_lines(run: Run, cell: Cell) -> list[str]:
    """A cell's lines of the job, from its marker on."""
    return [f"cell {cell.id} {cell.seed}", *cell_lines(run, cell)]


def job_parts(run: Run) -> tuple[list[str], list[list[str]], list[str]]:
    """The lines of a run's job: what comes before its cells, each cell's own, and what comes behind them."""
    if run.guest.settings_by == guests.COMMANDS:
        return command_parts(run)
    limits = catalogue.controller(run.controller)
    array = volumes.software(run.array)
    needed = [
        name for cell in run.cells[:1] if not cell.raw for name in filesystems.file_system(cell.file_system).modules
    ]
    needed = [*limits.modules, *(array.volume.modules if array else ()), *needed]
    before = ["spindle-job 1", f"modules {' '.join(needed)}"]
    # These are the names of all disks, in whatever order they were found.
    letters = string.ascii_lowercase[: array.count] if array else limits.disk[-1]
    before += [f"wait_disk {limits.disk[:-1]}{letter}" for letter in letters]
    before += [f"workload {name}" for name in (*tools(run), *run.workloads)]
    before += disk_lines(run, run.cells[0])
    before += run.script
    each = [] if run.script else [marked_lines(run, cell) for cell in run.cells]
    behind = []
    if array and not array.apart:
        if not run.script and run.cells[0].raw:
            behind += check_lines(run, run.cells[0])
        behind += exec_lines(run, array, array.volume.stop)
    # The guest flushes the disk's cache as it stops; without a marker that would stand in the last cell's trace.
    return before, each, [*behind, f"cell {SHUTDOWN_LABEL} 1", "end", "poweroff"]


def command_parts(run: Run) -> tuple[list[str], list[list[str]], list[str]]:
    """The same of a guest whose settings are made by commands."""
    before = ["spindle-job 1", f"wait_disk {disk_name(run)}"]
    before += [f"workload {name}" for name in run.workloads]
    before += disk_lines(run, run.cells[0])
    before += run.script
    each = [] if run.script else [marked_lines(run, cell) for cell in run.cells]
    return before, each, [f"cell {SHUTDOWN_LABEL} 1", "end", "poweroff"]


def job_text(run: Run) -> str:
    """The job of a run."""
    before, each, behind = job_parts(run)
    return "\n".join([*before, *(line for lines in each for line in lines), *behind]) + "\n"


def tools(run: Run) -> tuple[str, ...]:
    """The volume managers' image, where a run needs it."""
    return (volumes.TOOLS,) if volumes.software(run.array) else ()


def job_disk(text: str) -> bytes:
    """The job disk: an empty control area, then the text, filled up with empty lines."""
    data = text.encode()
    if len(data) >= JOB_TEXT_BYTES:
        raise ValueError(
            f"the job has {len(data)} bytes, the job disk room for {JOB_TEXT_BYTES}; "
            "share the run's cells out to more runs, or raise JOB_TEXT_BYTES in lab/cell/job.py"
        )
    return bytes(512 * CONTROL_SECTORS) + data.ljust(JOB_TEXT_BYTES - 1, b"\n") + b"\0"


def disk_units(array_name: str) -> list[str]:
    """Names of the disks that the guest sees, in the topology and in the trace."""
    array = volumes.software(array_name)
    return [f"disk{number}" for number in range(array.count if array else 1)]


def disk_files(run: Run) -> list[str]:
    """Files that hold their data."""
    return [f"{unit}.img" for unit in disk_units(run.array)] if volumes.software(run.array) else ["disk.img"]


def topology_text(run: Run, catalogue_path: str) -> str:
    """The topology file: the disks under test on their buses, and null units for root, job disk, tools, workloads."""
    null_units = "".join(
        f'\n[[unit]]\nname = "{name}"\nnull_latency_ns = {SYSTEM_LATENCY_NS}\n'
        for name in ("system", "job", *tools(run), *(f"workload-{name}" for name in run.workloads))
    )
    array = run.hardware
    if array:
        disks = hardware_text(run, array)
    else:
        disks = card_text(run) if catalogue.controller(run.controller).card else disks_text(run)
    return f'schema = "spindle-topology/1"\ncatalogue = "{catalogue_path}"\n{disks}{null_units}{faults_text(run)}'


def faults_text(run: Run) -> str:
    """The drives that fail."""
    return "".join(
        f'\n[[fault]]\nunit = "{unit}"\nmarker = "{marker}"\nafter_marker_ns = {after_ns}\n'
        for unit, marker, after_ns in run.faults
    )


def bus_text(number: int, entry: str) -> str:
    """A bus of the topology."""
    return f'\n[[bus]]\nname = "bus{number}"\nentry = "{entry}"\n'


def set_text(table: str, values: dict) -> str:
    """A table of values that a row overrides; nothing where it has none."""
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())
    return f"[{table}.set]\n{lines}" if lines else ""


def disks_text(run: Run) -> str:
    """Disks that the guest sees. Several share the host's bus, and on most controllers they share theirs."""
    limits = catalogue.controller(run.controller)
    cache = "true" if run.settings.value("write_cache") else "false"
    queue = run.settings.value("disk_scheduler_on" if run.cells[0].disk_scheduler else "disk_scheduler_off")
    shared = host_bus_text(run) if run.array != volumes.NONE else ""
    units = disk_units(run.array)
    buses = [limits.bus_of(number) for number in range(len(units))]
    drives = [
        f'\n[[unit]]\nname = "{unit}"\ndrive = "{run.drive}"\nbus = "bus{bus}"\nmax_tags = {limits.max_tags}\n'
        f'queue = "{queue}"\nwrite_cache = {cache}\n{set_text("unit", run.settings.drive)}'
        for unit, bus in zip(units, buses, strict=True)
    ]
    return "".join([shared, *(bus_text(bus, limits.bus) for bus in sorted(set(buses))), *drives])


def host_bus_text(run: Run) -> str:
    """The host's bus. What is 0 has no line: a rate of writes that is that of reads, commands that cost nothing."""
    keys = {"rate_kb_s": "host_bus_kb_s"}
    if len(disk_units(run.array)) > 1:
        keys |= {"write_rate_kb_s": "host_bus_write_kb_s", "request_ns": "host_bus_request_ns"}
    values = {key: run.settings.value(assumption) for key, assumption in keys.items()}
    return "\n[host_bus]\n" + "".join(f"{key} = {value}\n" for key, value in values.items() if value)


def card_text(run: Run) -> str:
    """Drives behind a card that queues for each: to the guest a disk each, which share the card's link to the host.

    The host's bus has no line: the link's rates were measured through it."""
    limits = catalogue.controller(run.controller)
    card = volumes.hardware(limits.card)
    units = disk_units(run.array)
    tags = (catalogue.values("drives", run.drive) | run.settings.drive)["max_tags"]
    buses = "".join(bus_text(number, card.bus) for number in range(len(units)))
    drives = "".join(
        f'\n[[unit]]\nname = "m{number}"\ndrive = "{run.drive}"\nbus = "bus{number}"\nmax_tags = {tags}\n'
        f"member = true\n{set_text('unit', run.settings.drive)}"
        for number in range(len(units))
    )
    shown = "".join(
        f'\n[[array]]\nname = "{unit}"\ncontroller = "{card.name}"\nmembers = ["m{number}"]\nspares = []\n'
        f'max_tags = {card.max_tags}\ncard = "card"\n'
        for number, unit in enumerate(units)
    )
    return buses + drives + shown


def hardware_text(run: Run, array: volumes.Hardware) -> str:
    """A hardware array, which the guest sees as one disk, and the drives behind it."""
    own = run.settings.drive
    tags = (catalogue.values("drives", run.drive) | own)["max_tags"]
    names = [f"m{number}" for number in range(array.members + array.spares)]
    drives = [
        f'\n[[unit]]\nname = "{name}"\ndrive = "{run.drive}"\nbus = "bus{number % array.buses}"\nmax_tags = {tags}\n'
        f"member = true\n{set_text('unit', own)}"
        for number, name in enumerate(names)
    ]
    members, spares = (json.dumps(part) for part in (names[: array.members], names[array.members :]))
    return "".join(
        [
            *(bus_text(bus, array.bus) for bus in range(array.buses)),
            *drives,
            f'\n[[array]]\nname = "disk0"\ncontroller = "{array.name}"\nmembers = {members}\nspares = {spares}\n',
            f"max_tags = {array.max_tags}\n{set_text('array', run.settings.array)}",
        ]
    )


def time_limit_s(run: Run) -> int:
    """Virtual seconds after which a run counts as hung."""
    limit = "limit_cell_s" if run.cells[0].raw else "limit_fs_cell_s"
    setup_s = run.settings.limit("limit_setup_s") + run.guest.data["boot"].get("setup_s", 0)
    return setup_s + len(run.cells) * run.settings.limit(limit)


def qemu_command(run: Run, build: str, work: str, kernel_append: str) -> list[str]:
    """QEMU's command line. `build` and `work` are the build directory and the run's own."""
    limits = catalogue.controller(run.controller)
    ns = run.settings.value("cpu_ns_per_instruction")
    shift = ns.bit_length() - 1
    if ns != 1 << shift:
        raise ValueError(f"cpu_ns_per_instruction is {ns}; QEMU's clock can count 1, 2, 4, ... ns an instruction")

    def blockdev(node: str, filename: str, unit: str, *options: str) -> list[str]:
        head = f"driver=spindle,node-name={node},filename={filename},topology={work}/topology.toml,unit={unit}"
        return ["-blockdev", ",".join([head, *options])]

    def virtio(node: str, serial: str | None = None) -> list[str]:
        # ioeventfd would hand requests over by a host thread, at the host's time.
        return ["-device", f"virtio-blk-pci,drive={node},serial={serial or node},ioeventfd=off"]

    def cache_option() -> str:
        return f"write-cache={'on' if run.settings.value('write_cache') else 'off'}"

    command = [f"{build}/qemu/qemu-system-x86_64", "-L", f"{build}/{run.guest.thing}/firmware"]
    command += ["-machine", "pc", "-cpu", "qemu64", "-accel", "tcg,thread=single,tb-size=256"]
    command += [
        "-icount",
        f"shift={shift},sleep=off,lockstep=on",
        "-seed",
        "1",
        "-rtc",
        "clock=vm,base=2000-11-22T00:00:00",
    ]
    command += ["-m", str(run.settings.value("memory_mib"))]
    command += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-sandbox", SANDBOX]
    if not run.guest.by_bios:
        command += ["-kernel", f"{build}/guest/vmlinux", "-initrd", f"{build}/guest/initramfs.cpio"]
        command += ["-append", kernel_append]
    elif display := run.guest.data["boot"].get("display"):
        command += ["-device", display]
    command += ["-serial", f"file:{work}/console.log", "-serial", f"file:{work}/agent.log"]
    if run.guest.by_bios:
        # An installed system writes to its disk: it gets a copy.
        command += blockdev("root", f"{work}/{SYSTEM_FILE}", "system", f"trace={work}/io.trace")
        command += ["-device", run.guest.data["boot"]["system_disk"].format(node="root")]
    else:
        command += blockdev("root", f"{build}/guest/root.erofs", "system", f"trace={work}/io.trace", "read-only=on")
        command += virtio("root")
    command += blockdev("job", f"{work}/job.img", "job", "control=on", f"time-limit-s={time_limit_s(run)}")
    command += virtio("job")
    for name in tools(run):
        command += blockdev(name, f"{build}/volumes/{name}.erofs", name, "read-only=on") + virtio(name)
    for name in run.workloads:
        unit = f"workload-{name}"
        command += blockdev(unit, f"{build}/workloads/{name}.erofs", unit, "read-only=on") + virtio(unit, name)
    # A hardware array and a card decide of the write cache themselves, as their catalogue entries have it.
    options = [] if run.hardware or limits.card else [cache_option()]
    if volumes.software(run.array):
        units = disk_units(run.array)
        for unit, file in zip(units, disk_files(run), strict=True):
            command += blockdev(unit, f"{work}/{file}", unit, *options)
        for argument in limits.devices(units):
            command += ["-device", argument]
        return command
    command += blockdev("disk", f"{work}/disk.img", "disk0", *options)
    if limits.device:
        command += ["-device", limits.device]
    command += ["-device", limits.disk_device.format(node="disk")]
    return command
