#!/bin/sh
# SPDX-License-Identifier: MIT
# ssh: the SSH-like benchmark: unpack, configure and build a source package on
# the file system under test. README.md says which package, and why.
set -eu

fail() {
    echo "ssh: $1" >&2
    exit 1
}

package=enscript-1.6.5.90
archive=enscript_1.6.5.90.orig.tar.gz
files_packed=475
# Twenty years of 365.25 days: the archive is of 2011, the guest's clock of 2000.
backdate_s=631152000

directory='' seed='' scale=1 compiler=gcc flags='-O0' drop_caches=yes
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || fail "$1: unknown, or its value is missing; see README.md"
    case $1 in
    --dir) directory=$2 ;;
    --seed) seed=$2 ;;
    --scale) scale=$2 ;;
    --compiler) compiler=$2 ;;
    --flags) flags=$2 ;;
    --drop-caches) drop_caches=$2 ;;
    *) fail "$1: unknown; options are --dir, --seed, --scale, --compiler, --flags, --drop-caches" ;;
    esac
    shift 2
done
[ -d "$directory" ] || fail "--dir '$directory': give an existing directory on the file system under test"
for name in source.tar.gz $package; do
    [ ! -e "$directory/$name" ] || fail "--dir '$directory': $name is there already; give an empty directory"
done
case $seed in
'' | *[!0-9]*) fail "--seed '$seed': give a whole number, 0 or more" ;;
esac
case $scale in
1 | 1.0) ;;
*) fail "--scale $scale: a package is built whole or not at all; only 1 is there" ;;
esac
case $drop_caches in
yes | no) ;;
*) fail "--drop-caches $drop_caches: give yes or no" ;;
esac

here=$(cd "${0%/*}" && pwd)
directory=$(cd "$directory" && pwd)
PATH=$here:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
LC_ALL=C
export PATH LC_ALL
umask 022
# What the commands say goes where nothing is measured.
logs=/tmp/ssh.$$
mkdir "$logs"
trap 'rm -rf "$logs"' EXIT

elapsed_ns=0 metrics=''
# phase NAME COMMAND: runs a shell command as a phase that counts
phase() {
    line=$(stopwatch phase "$1" sh -c "exec >$logs/$1 2>&1; $2") ||
        fail "phase $1 failed: $(tail -n 3 "$logs/$1" | tr '\n' ' ')"
    echo "$line"
    # shellcheck disable=SC2086  # words of the line
    set -- $line
    elapsed_ns=$((elapsed_ns + $4 - $3))
    metrics="${metrics}metric $2_ns $(($4 - $3))
"
}

begin_ns=$(stopwatch now)
cd "$directory"
gunzip -c "$here/share/$archive" >"$logs/tar" || fail "share/$archive: cannot be unpacked"
backdate $backdate_s <"$logs/tar" | gzip -n >source.tar.gz
rm "$logs/tar"
sync
# The archive is read from the disk.
[ "$drop_caches" = no ] || echo 3 >/proc/sys/vm/drop_caches
echo "phase setup $begin_ns $(stopwatch now)"

phase unpack "tar -x -z -o -f source.tar.gz"
cd "$package"
files=$(find . -type f | wc -l)
phase configure "./configure CC='$compiler' CFLAGS='$flags'"
phase build "make"

[ "$files" -eq $files_packed ] || fail "$files files were unpacked instead of $files_packed"
ENSCRIPT_LIBRARY=lib
export ENSCRIPT_LIBRARY
version=$(src/enscript --version | head -n 1) || fail "the program built does not start"
[ "$version" = "GNU Enscript 1.6.5.90" ] || fail "the program built calls itself '$version'"
src/enscript -q -p "$logs/ps" README || fail "the program built cannot convert a text"
[ "$(head -c 4 "$logs/ps")" = '%!PS' ] || fail "the program built writes no PostScript"
grep -q -i 'clock skew' "$logs/build" && fail "make found files of the future: $(grep -i skew "$logs/build" | head -n 1)"

echo "metric elapsed_ns $elapsed_ns"
printf '%s' "$metrics"
echo "metric files_unpacked $files"
echo "metric files_after $(find . -type f | wc -l)"
echo "metric checks $(grep -c '^checking' "$logs/configure")"
echo "metric objects $(find . -name '*.o' | wc -l)"
echo "info package $package"
echo "info compiler $compiler $flags"
