#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the Python library spindle_disk: a wheel, which others may install with pip, and beside it what the wheel holds,
# which the lab's own Python imports. A folder of its own stays when that Python is made anew.
#
#   usage: build.sh BUILD PYTHON     BUILD/bindings/wheel, BUILD/bindings/site; PYTHON has maturin
#   CARGO_TARGET_DIR                 folder for the compiler's files (default: BUILD/disk)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
python=$2
: "${CARGO_TARGET_DIR:=$build/disk}"
export CARGO_TARGET_DIR
# What the crate is compiled against; without it, maturin asks for a `python3`.
PYO3_PYTHON=$python
export PYO3_PYTHON
bindings=$build/bindings

rm -rf "$bindings/wheel" "$bindings/site.new"
"$python" -m maturin build --release --locked --interpreter "$python" --compatibility linux \
    --manifest-path "$here/Cargo.toml" --out "$bindings/wheel"
"$python" -m pip install --disable-pip-version-check --no-input --no-index --no-deps --no-compile \
    --target "$bindings/site.new" "$bindings"/wheel/*.whl
rm -rf "$bindings/site"
mv "$bindings/site.new" "$bindings/site"
