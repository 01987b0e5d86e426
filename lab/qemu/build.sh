#!/bin/sh
# SPDX-License-Identifier: MIT
# Build the lab's QEMU: fetch the pinned source archive, apply patches/,
# compile, and put one binary at $SPINDLE_BUILD/qemu/qemu-system-x86_64.
#
# usage: lab/qemu/build.sh            about 3 minutes on 2 cores
#        lab/qemu/build.sh --source   only fetch, unpack and patch
#
# SPINDLE_BUILD  where built things go (default: build/ in the project)
# SPINDLE_JOBS   compiler processes (default: all cores)
#
# Needs root for nothing. A second run with the same archive, patches and
# driver only relinks if libspindle_disk.a is newer.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${SPINDLE_BUILD:-$root/build}
mkdir -p "$build"
build=$(cd "$build" && pwd)
cache=${SPINDLE_CACHE:-$root/build/cache}
out=$build/qemu
work=$out/work
library=$build/disk/release/libspindle_disk.a

# shellcheck source=envs/qemu.lock
. "$root/envs/qemu.lock"

say() { printf 'qemu: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

for tool in gcc ninja meson pkg-config patch xz; do
    command -v "$tool" >/dev/null ||
        die "the program '$tool' is missing; 'make doctor' names its package"
done

# Everything the unpacked, patched, configured tree depends on; how it is configured stands in this file.
stamp=$(cat "$root/envs/qemu.lock" "$here"/patches/*.patch "$here/build.sh" | sha256sum | cut -d' ' -f1)

unpack() {
    if [ "$(cat "$work/stamp" 2>/dev/null)" = "$stamp" ]; then return; fi
    rm -rf "$work"
    mkdir -p "$work"
    tar -xf "$cache/$archive" -C "$work"
    mv "$work/qemu-$version" "$work/source"
    for patch in "$here"/patches/*.patch; do
        patch -s -p1 -F0 --no-backup-if-mismatch -d "$work/source" <"$patch" ||
            die "$(basename "$patch") does not apply to QEMU $version"
    done
    echo "$stamp" >"$work/stamp"
}

# Keep the time stamp where nothing changed, so that ninja has nothing to do.
install_driver() {
    cmp -s "$here/block/spindle.c" "$work/source/block/spindle.c" ||
        cp "$here/block/spindle.c" "$work/source/block/spindle.c"
}

configure() {
    if [ -f "$work/build/build.ninja" ]; then return; fi
    say "configuring (half a minute)"
    mkdir -p "$work/pkgconfig" "$work/build"
    cat >"$work/pkgconfig/spindle-disk.pc" <<EOF
Name: spindle-disk
Description: mechanical storage model
Version: 1
Libs: $library -lm -ldl -lpthread
Cflags: -I$root/lab/disk/model/include
EOF
    # Debian's own tools first: a Python or meson from elsewhere may lack parts.
    (cd "$work/build" &&
        PATH=/usr/sbin:/usr/bin:/sbin:/bin PKG_CONFIG_PATH="$work/pkgconfig" \
            ../source/configure --target-list=x86_64-softmmu \
            --without-default-features --without-default-devices \
            --with-devices-x86_64=spindle --enable-system --enable-tcg --enable-seccomp --enable-spindle \
            --disable-docs --disable-install-blobs --audio-drv-list= \
            --disable-pie --extra-ldflags=-no-pie --disable-stack-protector --disable-debug-info \
            --enable-trace-backends=nop \
            --extra-cflags="-ffile-prefix-map=$work=." >"$out/configure.log" 2>&1) ||
        { rm -f "$work/build/build.ninja"; die "configure failed, see $out/configure.log:
$(grep -m3 ERROR "$out/configure.log")"; }
}

compile() {
    [ -f "$library" ] || die "$library is missing; 'make model' builds it"
    # ninja does not see the library behind pkg-config's flags
    [ -z "$(find "$library" -newer "$work/build/qemu-system-x86_64" 2>&1)" ] || rm -f "$work/build/qemu-system-x86_64"
    say "compiling (about 3 minutes on 2 cores the first time)"
    PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        ninja -C "$work/build" -j "${SPINDLE_JOBS:-$(nproc)}" qemu-system-x86_64 >"$out/compile.log" 2>&1 ||
        die "compiling failed, see $out/compile.log:
$(grep -m3 -E 'error|undefined' "$out/compile.log")"
    cp "$work/build/qemu-system-x86_64" "$out/qemu-system-x86_64.part"
    mv "$out/qemu-system-x86_64.part" "$out/qemu-system-x86_64"
    say "built $out/qemu-system-x86_64"
}

mkdir -p "$out"
"$root/envs/fetch-source" "$cache" "$package" "$archive" "$sha256" || exit 1
unpack
install_driver
[ "${1:-}" != --source ] || exit 0
configure
compile
