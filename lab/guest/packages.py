# SPDX-License-Identifier: MIT
"""Locked Debian packages, fetched with the host's apt into one cache and checked."""

import os
import re
from pathlib import Path

from lab.guest.host import BuildError, HostError, run, sha256
from lab.guest.lockfile import Package

# The concrete kernel package is named after its version, so a mirror drops the
# name with the version; this package always depends on the current one.
KERNEL_META = "linux-image-amd64"

# What apt says when it reaches no mirror, whatever the package.
UNREACHABLE = re.compile(
    r".*(?:Could not resolve|Temporary failure resolving|[Uu]nable to connect|Could not connect|"
    r"Connection (?:failed|timed out|refused)|Network is unreachable).*"
)


def say(text: str) -> None:
    """Tell the user what is going on."""
    print(f"guest: {text}", flush=True)


def apt_download(specifications: list[str], directory: Path) -> bool:
    """Fetch packages, each "name" or "name=version", into a new folder; False if the mirror lacks one of them."""
    directory.mkdir(parents=True)
    try:
        run(["apt-get", "-q", "download", *specifications], cwd=directory)
    except HostError:
        raise
    except BuildError as error:
        if match := UNREACHABLE.search(str(error)):
            raise HostError(
                f"apt cannot fetch {specifications[0].partition('=')[0]}: {match[0].strip()}. "
                "Check the network, then give the same command again"
            ) from None
        return False
    return True


def download(specification: str, directory: Path) -> Path | None:
    """Fetch one .deb; None if the mirror has none."""
    if not apt_download([specification], directory):
        return None
    files = list(directory.iterdir())
    return files[0] if len(files) == 1 else None


def kernel_of_mirror() -> str:
    """Return the name of the kernel package that the mirror has today."""
    match = re.search(r"^\s*Depends: (linux-image-\S+)", run(["apt-cache", "depends", KERNEL_META]), re.M)
    if not match:
        raise BuildError(f"apt does not know {KERNEL_META}; run `apt-get update` and try again")
    return match[1]


def fetch(package: Package, cache: Path, scratch: Path) -> tuple[Path, str | None]:
    """Return the package's .deb and, if the mirror only has another version, what moved."""
    cached = cache / package.deb
    if not cached.exists():
        found = download(f"{package.name}={package.version}", scratch / package.name)
        if found is None:
            return fetch_current(package, cache, scratch)
        # apt has checked it against the mirror's index; the lock's own check is below.
        os.replace(found, cached)
    if (got := sha256(cached)) != package.sha256:
        raise BuildError(
            f"{cached}: SHA-256 is {got}, but its lock in envs/ says {package.sha256} for "
            f"{package.name} {package.version}. Delete the file and run again; if the mirror "
            "still gives the same file, either the mirror or the lock is wrong: compare with "
            "packages.debian.org, then `make relock`"
        )
    return cached, None


def fetch_current(package: Package, cache: Path, scratch: Path) -> tuple[Path, str]:
    """Return the mirror's current .deb in place of a locked one it no longer has."""
    name = package.name
    found = download(name, scratch / f"{name}.current")
    if found is None and re.match(r"linux-image-\d", name):
        name = kernel_of_mirror()
        found = download(name, scratch / f"{name}.current")
    if found is None:
        raise BuildError(
            f"apt can fetch neither {package.name} {package.version} nor another version of it. "
            "Run `apt-get update`; if that does not help, `make relock`"
        )
    version = field(found, "Version")
    target = cache / found.name
    os.replace(found, target)
    renamed = f"{name} " if name != package.name else ""
    return target, f"{package.name} {package.version} -> {renamed}{version}"


def field(deb: Path, name: str) -> str:
    """Return a field of a package's control file; empty if it has none."""
    return run(["dpkg-deb", "--field", str(deb), name]).strip()


def fetch_all(packages: list[Package], cache: Path, scratch: Path) -> tuple[dict[str, Path], list[str]]:
    """Return the .deb of each locked package, and what moved."""
    cache.mkdir(parents=True, exist_ok=True)
    missing = [package for package in packages if not (cache / package.deb).exists()]
    if missing:
        say(f"fetching {len(missing)} packages with apt")
    prefetch(missing, cache, scratch / "prefetch")
    debs: dict[str, Path] = {}
    moved: list[str] = []
    for package in packages:
        debs[package.name], change = fetch(package, cache, scratch)
        if change:
            moved.append(change)
            say(f"lock moved: {change} (the mirror no longer has the locked version)")
    return debs, moved


def prefetch(missing: list[Package], cache: Path, scratch: Path) -> None:
    """Fetch in one go what the mirror has; apt refuses the whole list if it lacks one, and fetch() asks one by one."""
    if missing and apt_download([f"{package.name}={package.version}" for package in missing], scratch):
        for package in missing:
            if (scratch / package.deb).exists():
                os.replace(scratch / package.deb, cache / package.deb)
