#!/bin/sh
# SPDX-License-Identifier: MIT
# The images must not depend on where, by whom, in which language or with which compiler on the host they are built:
# build guest, volume tools and workloads twice under different circumstances and compare every file. The first build
# has another compiler for the host's where there is one (clang, tcc, another gcc), the second a host whose compiler,
# linker and image tools end with an error. Nothing but the packages is shared. Takes two minutes of processor time.
# shellcheck disable=SC2030,SC2031  # what a build has for its environment is meant to end with the build
set -eu

here=$(cd "$(dirname "$0")" && pwd)
PYTHONPATH=$(cd "$here/../.." && pwd)
export PYTHONPATH
cache=${SPINDLE_BUILD:-$PYTHONPATH/build}/cache
one=$(mktemp -d)
# A memory file system lists a folder in another order than a disk does.
two=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$one" "$two"' EXIT
# kbuild takes no space in a path; everything else does.
far="$two/a/longer path"
mkdir -p "$cache/debs" "$one/cache" "$one/tools" "$far/cache" "$two/tools"
cache=$(cd "$cache" && pwd)
for build in "$one" "$far"; do
    for kept in "$cache/debs" "$cache"/linux-source-*.source; do
        [ ! -d "$kept" ] || ln -s "$kept" "$build/cache/"
    done
done

other=
for name in clang tcc gcc-11 gcc-13 gcc-14; do
    [ -n "$other" ] || other=$(command -v "$name" || true)
done
if [ -n "$other" ]; then
    for name in cc gcc gcc-12; do ln -s "$other" "$one/tools/$name"; done
fi
for name in cc gcc gcc-12 cpp cpp-12 clang as ld ld.bfd ar nm ranlib strip objcopy objdump readelf mkfs.erofs depmod \
    modinfo; do
    # shellcheck disable=SC2016  # the variable is the stub's
    printf '#!/bin/sh\necho "${0##*/} $*" >>"%s"\nexit 9\n' "$two/called" >"$two/tools/$name"
    chmod 755 "$two/tools/$name"
done

# The workloads that need no source package of their own.
workloads=
for folder in "$PYTHONPATH"/workloads/*/; do
    name=$(basename "$folder")
    if [ -f "$folder/README.md" ] && [ "$name" != common ] && [ ! -f "$folder/sources.lock" ]; then
        workloads="$workloads $name"
    fi
done

build_all() {
    python3 -m lab.guest.build
    python3 -m lab.volumes.build
    # shellcheck disable=SC2086  # one word a workload
    python3 -m workloads.build $workloads
}

(umask 022 && cd / && export PATH="$one/tools:$PATH" TZ=UTC LC_ALL=C SPINDLE_BUILD="$one" && build_all)
(umask 077 && cd "$two" && export PATH="$two/tools:$PATH" TZ=Pacific/Auckland LC_ALL=C.UTF-8 LANG=de_DE.UTF-8 \
    PYTHONHASHSEED=7 SPINDLE_BUILD="$far" && build_all)

if [ -e "$two/called" ]; then
    echo "test_reproducible: these programs of the host were called, and the toolchain's should have been:" >&2
    sort "$two/called" | uniq >&2
    exit 1
fi
for part in guest volumes workloads; do
    if ! diff -r "$one/$part" "$far/$part"; then
        echo "test_reproducible: the two builds of $part differ in the files named above" >&2
        exit 1
    fi
done
echo "test_reproducible: $(find "$one/guest" "$one/volumes" "$one/workloads" -type f | wc -l) files are equal, byte for" \
    "byte; compilers of the host: ${other:-its own}, and one that fails"
