#!/bin/sh
# SPDX-License-Identifier: MIT
# ldm-assemble DEVICE DISK...   assemble the dynamic volume DEVICE (below /dev/mapper) from all its disks with ldmtool
#
# ldmtool's table for a mirror or RAID 5 names no place for device-mapper's own notes, so each start would be taken for
# the first: the kernel would read all disks to bring them in step, and RAID 5 would not trust its parity meanwhile
# (Linux 6.1, drivers/md/dm-raid.c, raid5.c). Our disks begin as zeros and never stop in the middle of a write, so they
# are in step; the table is replaced by the same one that says so.
set -eu
device=$1
name=${device##*/}
shift
number=$#
for disk; do
    set -- "$@" -d "$disk"
done
shift "$number"
ldmtool "$@" create all >/run/ldm-assemble
if [ ! -b "$device" ]; then
    echo "ldm-assemble: ldmtool made $(tr -d '\n' </run/ldm-assemble), not $device" >&2
    exit 1
fi
table=$(dmsetup table "$name")
in_step=$(echo "$table" | sed 's/ raid \(raid[0-9a-z_]*\) 1 \([0-9]*\) / raid \1 2 \2 nosync /')
if [ "$table" != "$in_step" ]; then
    dmsetup reload "$name" --table "$in_step"
    dmsetup resume "$name"
fi
