#!/bin/sh
# SPDX-License-Identifier: MIT
# install.sh FOLDER: install FreeBSD unattended, from a shell of its installation medium. FOLDER has what the seed had.
# bsdinstall(8), SCRIPTING: `bsdinstall script FILE` partitions, extracts and configures without a question.
set -eu

[ $# -eq 1 ] || { echo "usage: install.sh FOLDER" >&2; exit 2; }
bsdinstall script "$1/freebsd/installerconfig"
