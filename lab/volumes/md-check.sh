#!/bin/sh
# SPDX-License-Identifier: MIT
# md-check DEVICE MIB   exit with 0 if the array has all its disks and the first MIB of each disk agree
#
# Copies, or parity and data, are compared by md's own check (md(4), sync_action); a whole disk would take an hour.
set -eu
device=$1
mib=$2
md=/sys/block/${device##*/}/md
if ! mdadm --detail --test "$device" >/run/md-check; then
    grep -E 'State|Failed|faulty|removed' /run/md-check >&2
    echo "md-check: $device lacks disks" >&2
    exit 1
fi
if [ "$mib" -eq 0 ]; then
    exit 0
fi
echo $((mib * 2048)) >"$md/sync_max"
echo check >"$md/sync_action"
# What waits at sync_max stays in the action "check", and sync_completed shows how far it is; at the end of the disks the
# action ends.
while read -r position _ <"$md/sync_completed" && [ "$position" != $((mib * 2048)) ]; do
    if [ "$(cat "$md/sync_action")" = idle ]; then
        break
    fi
    sleep 0.01
done
count=$(cat "$md/mismatch_cnt")
echo idle >"$md/sync_action"
echo max >"$md/sync_max"
if [ "$count" -ne 0 ]; then
    echo "md-check: $count sectors differ in the first $mib MiB of $device" >&2
    exit 1
fi
