#!/bin/sh
# SPDX-License-Identifier: MIT
# The guest image must not depend on where, by whom or in which language it is
# built: build it twice under different circumstances and compare every file.
# Takes a minute or two; the packages come from the usual cache, or from apt.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${SPINDLE_BUILD:-$here/../../build}/cache
one=$(mktemp -d)
# A memory file system lists a folder in another order than a disk does.
two=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$one" "$two"' EXIT

mkdir -p "$cache" "$two/a/longer path"
ln -s "$(cd "$cache" && pwd)" "$one/cache"
ln -s "$(cd "$cache" && pwd)" "$two/a/longer path/cache"

(umask 022 && cd / && TZ=UTC LC_ALL=C SPINDLE_BUILD="$one" python3 "$here/build.py")
(umask 077 && cd "$two" && TZ=Pacific/Auckland LC_ALL=C.UTF-8 LANG=de_DE.UTF-8 PYTHONHASHSEED=7 \
    SPINDLE_BUILD="$two/a/longer path" python3 "$here/build.py")

if ! diff -r "$one/guest" "$two/a/longer path/guest"; then
    echo "test_reproducible: the two images differ in the files named above" >&2
    exit 1
fi
echo "test_reproducible: $(find "$one/guest" -type f | wc -l) files are equal, byte for byte"
