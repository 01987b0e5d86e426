#!/bin/sh
# SPDX-License-Identifier: MIT
# Every bad option of the block driver, and what QEMU says to it. The output
# is compared with options.out by test_qemu.py.
# usage: options.sh QEMU CATALOGUE
set -u
qemu=$1
catalogue=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cd "$work" || exit 1

topology() {
    printf 'schema = "spindle-topology/1"\ncatalogue = "%s"\n' "$catalogue"
    printf '[[bus]]\nname = "bus0"\nentry = "ata-100"\n'
    printf '[[unit]]\nname = "disk0"\ndrive = "%s"\nbus = "bus0"\nmax_tags = 1\n' "$1"
    printf '[[unit]]\nname = "job"\nnull_latency_ns = 20000\n'
}
topology deskstar-75gxp >lab.toml
topology deskstar-75gxp >other.toml
topology no-such-drive >unknown.toml
truncate -s $((60036480 * 512)) disk.img
truncate -s 4096 small.img job.img

# $1: what is tried; the rest: QEMU's arguments
try() {
    echo "== $1"
    shift
    timeout 20 "$qemu" -nodefaults -display none -M none "$@" </dev/null 2>&1 |
        sed -e "s,$catalogue,CATALOGUE,g" -e "s,^[^ ]*qemu-system-x86_64,QEMU,"
}

disk=driver=spindle,node-name=d,filename=disk.img,topology=lab.toml,unit=disk0
try "no unit" -blockdev driver=spindle,node-name=d,filename=disk.img,topology=lab.toml
try "unknown unit" -blockdev driver=spindle,node-name=d,filename=disk.img,topology=lab.toml,unit=disk7
try "unknown option" -blockdev $disk,write-cach=on
try "unknown queue algorithm" -blockdev $disk,queue=fastest
try "write-cache neither on nor off" -blockdev $disk,write-cache=maybe
try "unknown drive" -blockdev driver=spindle,node-name=d,filename=disk.img,topology=unknown.toml,unit=disk0
try "no topology file" -blockdev driver=spindle,node-name=d,filename=disk.img,topology=none.toml,unit=disk0
try "two topologies" -blockdev $disk \
    -blockdev driver=spindle,node-name=e,filename=disk.img,topology=other.toml,unit=disk0
try "two nodes of one unit" -blockdev $disk \
    -blockdev driver=spindle,node-name=e,filename=disk.img,topology=lab.toml,unit=disk0
try "no data file" -blockdev driver=spindle,node-name=d,filename=none.img,topology=lab.toml,unit=disk0
try "data file too small" -blockdev driver=spindle,node-name=d,filename=small.img,topology=lab.toml,unit=disk0
try "trace in no folder" -blockdev $disk,trace=none/io.trace
try "two traces" -blockdev $disk,trace=a.trace \
    -blockdev driver=spindle,node-name=j,filename=job.img,topology=lab.toml,unit=job,trace=b.trace
try "time limit too large" -blockdev driver=spindle,node-name=j,filename=job.img,topology=lab.toml,unit=job,time-limit-s=99999999999
try "power cut too late" -blockdev $disk,power-cut-ns=9999999999999999999
try "two power cuts" -blockdev $disk,power-cut-ns=1000000000 \
    -blockdev driver=spindle,node-name=j,filename=job.img,topology=lab.toml,unit=job,power-cut-ns=2000000000
try "lockstep with sleep" -accel tcg -icount shift=0,sleep=on,lockstep=on
try "lockstep with shift=auto" -accel tcg -icount shift=auto,sleep=off,lockstep=on
