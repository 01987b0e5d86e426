#!/bin/sh
# SPDX-License-Identifier: MIT
# ldm-check DEVICE   exit with 0 if the dynamic volume has all its disks, in step
set -eu
status=$(dmsetup status "${1##*/}")
# start, length, raid, level, number of disks, a letter for each (dm-raid.rst: A is alive and in step), ...
case $status in
    *" raid "*) health=$(echo "$status" | cut -d ' ' -f 6) ;;
    *) health=A ;;
esac
case $health in
    *[!A]*)
        echo "ldm-check: $1 lacks disks or is not in step: $status" >&2
        exit 1
        ;;
esac
