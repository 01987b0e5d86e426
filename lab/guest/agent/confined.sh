#!/bin/sh
# SPDX-License-Identifier: MIT
# confined BYTES COMMAND [ARGUMENT ...]: run a command in a memory cgroup, page cache included, so that a cell at
# a smaller scale has a smaller cache.
set -eu

[ $# -ge 2 ] || { echo "usage: confined BYTES COMMAND [ARGUMENT ...]" >&2; exit 2; }
group=/sys/fs/cgroup/confined
[ -d /sys/fs/cgroup ] || { echo "confined: the kernel has no cgroups" >&2; exit 1; }
[ -f /sys/fs/cgroup/cgroup.controllers ] || mount -t cgroup2 none /sys/fs/cgroup
[ -d $group ] || { echo +memory >/sys/fs/cgroup/cgroup.subtree_control; mkdir $group; }
echo "$1" >$group/memory.max
echo $$ >$group/cgroup.procs
shift
exec "$@"
