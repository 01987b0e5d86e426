# SPDX-License-Identifier: MIT
"""The kernel's modules in an image: which are wanted (modules.txt), what they need, and the rest thrown away."""

import struct
from pathlib import Path

from lab.guest import toolchain
from lab.guest.host import BuildError

MODULES = Path(__file__).resolve().parent / "modules.txt"


def parse_modules(text: str) -> tuple[list[str], list[str]]:
    """Return the modules to load at boot and the further ones in the image."""
    boot: list[str] = []
    other: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) == 2 and words[0] == "boot":
            boot.append(words[1])
        elif len(words) == 1:
            other.append(words[0])
        else:
            raise BuildError(f'lab/guest/modules.txt:{number}: {line!r} is neither a module\'s name nor "boot NAME"')
    return boot, other


def module_closure(names: list[str], tree: Path) -> list[Path]:
    """Return the files of the modules and of all they depend on, in an order to load them."""

    def canonical(name: str) -> str:
        return name.replace("-", "_")

    files = {canonical(path.stem): path for path in tree.rglob("*.ko")}
    builtin = {canonical(Path(line).stem) for line in (tree / "modules.builtin").read_text().split()}
    ordered: list[Path] = []
    modinfo = toolchain.current().run

    def add(name: str, wanted_by: str) -> None:
        key = canonical(name)
        if key in builtin:
            return
        if key not in files:
            raise BuildError(
                f"kernel module {name} (wanted by {wanted_by}) is not in the kernel package; "
                "correct lab/guest/modules.txt"
            )
        if files[key] in ordered:
            return
        for needed in modinfo(["modinfo", "-F", "depends", str(files[key])]).strip().split(","):
            if needed:
                add(needed, name)
        ordered.append(files[key])

    for name in names:
        add(name, "lab/guest/modules.txt")
    return ordered


def strip_signature(module: Path) -> None:
    """Take the appended signature off a module; checking it is slow in an emulated guest.

    The module's SHA-256 in the lock's package has been checked here instead.
    Format: Linux, Documentation/admin-guide/module-signing.rst, "Signed
    modules": signature, a 12-byte record that ends in the signature's length, a
    marker line.
    """
    marker = b"~Module signature appended~\n"
    data = module.read_bytes()
    if data.endswith(marker):
        end = len(data) - len(marker) - 12
        (length,) = struct.unpack_from(">I", data, end + 8)
        module.write_bytes(data[: end - length])


def cut_modules(root: Path) -> list[Path]:
    """Remove the modules nobody asked for from the image; return those of the initramfs."""
    trees = list((root / "lib" / "modules").iterdir())
    if len(trees) != 1:
        raise BuildError(f"{len(trees)} kernels in the lock, expected one; correct envs/guest-packages.txt")
    tree = trees[0]
    boot, other = parse_modules(MODULES.read_text())
    boot_files = module_closure(boot, tree)
    kept = set(boot_files + module_closure(other, tree))
    for path in tree.rglob("*.ko"):
        if path in kept:
            strip_signature(path)
        else:
            path.unlink()
    toolchain.current().run(["depmod", "-b", str(root), tree.name])
    for path in tree.glob("modules.*"):
        # busybox's modprobe reads the text forms only
        if path.name not in ("modules.dep", "modules.alias", "modules.builtin", "modules.softdep", "modules.symbols"):
            path.unlink()
    return boot_files
