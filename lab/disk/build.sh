#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds what QEMU links, libspindle_disk.a, and the program spindle-disk into build/disk/release.
#
#   CARGO_TARGET_DIR   another folder for both (default: build/disk)
#
# Two builds, so that the library is decided by lab/disk/model alone: by its own lock file, and by
# no feature that another crate asks of a dependency they share.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
: "${CARGO_TARGET_DIR:=$here/../../build/disk}"
export CARGO_TARGET_DIR
cargo build --release --locked --manifest-path "$here/model/Cargo.toml"
cargo build --release --locked --manifest-path "$here/Cargo.toml"
