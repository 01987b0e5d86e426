#!/bin/sh
# SPDX-License-Identifier: MIT
# name-disks COUNT   name the disks by their serial numbers, disk0, disk1, ..., not by the order of their discovery
#
# Makes the links /run/disk/disk0 -> /dev/sdX and /run/disk/disk0.sys -> /sys/block/sdX. A serial number is what the
# disk says in VPD page 0x80: four bytes of header, then text.
set -eu
count=$1
mkdir -p /run/disk
for disk in /sys/block/sd*; do
    page=$disk/device/vpd_pg80
    if [ -f "$page" ]; then
        serial=$(dd if="$page" bs=4 skip=1 2>/dev/null | tr -d ' \000')
        ln -s "$disk" "/run/disk/$serial.sys"
        ln -s "/dev/${disk##*/}" "/run/disk/$serial"
    fi
done
number=0
while [ "$number" -lt "$count" ]; do
    if [ ! -b "/run/disk/disk$number" ]; then
        echo "name-disks: no disk has the serial number disk$number; the serial numbers are:" /run/disk/*.sys >&2
        exit 1
    fi
    number=$((number + 1))
done
