# SPDX-License-Identifier: MIT
"""Write envs/guest.lock anew from envs/guest-packages.txt, envs/kernel.lock for the kernel in it, and
envs/toolchain.lock from envs/toolchain-packages.txt.

    python -m lab.guest.relock

The packages are resolved by the host's apt with its mirrors, but against a
made-up list of installed packages: what the host has installed plays no part.
Packages that the wish list leaves out count as installed there, so apt goes
without them and without what only they would bring.
"""

import re
import subprocess
import tempfile
from pathlib import Path

from lab.guest import kernel_modules, toolchain
from lab.guest.host import REPOSITORY, one_message
from lab.guest.lockfile import LockError, Package, parse, render
from lab.guest.wishes import RelockError, parse_wishes

WISHES = REPOSITORY / "envs" / "guest-packages.txt"
LOCK = REPOSITORY / "envs" / "guest.lock"


def parse_simulation(text: str) -> list[tuple[str, str]]:
    """Return name and version of each package that `apt-get --simulate install` would install."""
    return re.findall(r"^Inst (\S+) \((\S+) ", text, flags=re.MULTILINE)


def parse_records(text: str) -> list[Package]:
    """Return the packages that the output of `apt-cache show` describes."""
    packages = []
    for record in text.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|Architecture|SHA256): (\S+)$", record, re.MULTILINE))
        if fields:
            packages.append(Package(fields["Package"], fields["Version"], fields["Architecture"], fields["SHA256"]))
    return packages


def _apt(command: list[str], status: Path) -> str:
    options = [
        f"Dir::State::status={status}",
        "Dir::Cache::pkgcache=",
        "Dir::Cache::srcpkgcache=",
        "APT::Install-Recommends=0",
        "APT::Get::AutomaticRemove=0",
    ]
    arguments = [command[0]] + [part for option in options for part in ("-o", option)] + command[1:]
    done = subprocess.run(
        arguments, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C"}
    )
    if done.returncode != 0:
        raise RelockError(
            f"`{' '.join(command[:3])} ...` failed: {done.stderr.strip() or done.stdout.strip()}\n"
            "Check the names in the wish list, and that `apt-get update` has been run."
        )
    return done.stdout


def resolve(wanted: list[str], left_out: list[str]) -> list[Package]:
    """Return WANTED and what they depend on, as the host's mirrors have them today."""
    with tempfile.TemporaryDirectory() as directory:
        status = Path(directory) / "status"
        status.write_text("")
        if left_out:
            shown = _apt(["apt-cache", "--no-all-versions", "show", *left_out], status)
            status.write_text(
                "".join(
                    f"Package: {package.name}\nStatus: install ok installed\n"
                    f"Version: {package.version}\nArchitecture: {package.arch}\nMulti-Arch: foreign\n"
                    "Maintainer: none\nDescription: left out of the guest\n\n"
                    for package in parse_records(shown)
                )
            )
        chosen = parse_simulation(_apt(["apt-get", "--simulate", "install", *wanted], status))
        records = parse_records(_apt(["apt-cache", "show", *(f"{name}={version}" for name, version in chosen)], status))
    return sorted(set(records))


def resolve_beside_guest(wanted: list[str], left_out: list[str]) -> list[Package]:
    """Return WANTED and what they depend on, but for what envs/guest.lock has."""
    _, guest_left_out = parse_wishes(WISHES.read_text())
    # The kernel's package changes its name; nothing depends on it.
    in_guest = [package.name for package in parse(LOCK.read_text()) if not re.match(r"linux-image-\d", package.name)]
    return resolve(wanted, sorted({*left_out, *guest_left_out, *in_guest} - {*wanted}))


def of_toolchain() -> list[Package]:
    """Return what the toolchain needs and the guest has not."""
    wanted, left_out = parse_wishes(toolchain.WISHES.read_text(), "envs/toolchain-packages.txt")
    in_guest = {package.name for package in parse(LOCK.read_text())}
    return resolve_beside_guest([name for name in wanted if name not in in_guest], left_out)


def of_kernel(packages: list[Package]) -> list[Package]:
    """Return what modules for the kernel among PACKAGES are built with, in the kernel's own version."""
    kernels = [package for package in packages if re.match(r"linux-image-\d", package.name)]
    if len(kernels) != 1:
        raise RelockError(f"{len(kernels)} kernels among the packages, expected one; correct envs/guest-packages.txt")
    names = kernel_modules.needed(kernels[0].name)
    with tempfile.TemporaryDirectory() as directory:
        status = Path(directory) / "status"
        status.write_text("")
        shown = _apt(["apt-cache", "show", *(f"{name}={kernels[0].version}" for name in names)], status)
    return sorted(set(parse_records(shown)))


def write(lock: Path, packages: list[Package]) -> None:
    """Rewrite a lock and say what moved."""
    where = str(lock.relative_to(REPOSITORY))
    old = {package.name: package for package in parse(lock.read_text(), where)} if lock.exists() else {}
    text = render(packages)
    parse(text, where)
    lock.write_text(text)
    for package in packages:
        before = old.pop(package.name, None)
        if before is None:
            print(f"+ {package.name} {package.version}")
        elif before != package:
            print(f"  {package.name} {before.version} -> {package.version}")
    for name in old:
        print(f"- {name}")
    print(f"{where}: {len(packages)} packages")


def main() -> None:
    """Rewrite the three locks."""
    packages = resolve(*parse_wishes(WISHES.read_text()))
    kernel = of_kernel(packages)
    write(LOCK, packages)
    write(kernel_modules.LOCK, kernel)
    write(toolchain.LOCK, of_toolchain())


if __name__ == "__main__":
    one_message("relock", main, RelockError, LockError)
