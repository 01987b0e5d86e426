#!/bin/sh
# SPDX-License-Identifier: MIT
# first-boot.sh FOLDER: in the installed FreeBSD, compile agent and workloads with its own cc(1), and start the agent at
# every boot at which there is a job disk. FOLDER has what the seed disk had.
set -eu

[ $# -eq 1 ] || { echo "usage: first-boot.sh FOLDER" >&2; exit 2; }
seed=$1
programs=${PROGRAMS:-/usr/local/bin}
services=${SERVICES:-/usr/local/etc/rc.d}
mkdir -p "$programs" "$services"
for program in agent rawio postmark; do
    set -- "$seed/$program/$program.c"
    # A program of several files has a folder of its name beside it.
    for part in "$seed/$program/$program"/*.c; do
        [ ! -f "$part" ] || set -- "$@" "$part"
    done
    cc -O2 -std=gnu11 -I "$seed/common" -o "$programs/$program" "$@" -lpthread
done
cp "$seed/freebsd/spindle_agent" "$services/spindle_agent"
chmod 755 "$services/spindle_agent"
sysrc spindle_agent_enable=YES
sync
