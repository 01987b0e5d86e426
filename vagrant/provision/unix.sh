#!/bin/sh
# SPDX-License-Identifier: MIT
# Install our workloads and the agent, which Vagrant has put into ~vagrant/spindle: programs, or on a system with a
# compiler of its own their sources. Run by root; a second time it does the same again.
set -eu

from=${1:-~vagrant/spindle}
prefix=${2:-/opt/spindle}

[ -d "$from" ] || { echo "provision: there is no folder $from; Vagrant uploads it first" >&2; exit 1; }
if [ -f "$from/build" ]; then
    (cd "$from" && sh ./build)
fi
for program in rawio postmark spindle-agent; do
    [ -f "$from/$program" ] || { echo "provision: $from has no $program; make the box again" >&2; exit 1; }
done
for workload in rawio postmark; do
    mkdir -p "$prefix/workloads/$workload"
    install -m 755 "$from/$workload" "$prefix/workloads/$workload/$workload"
done
mkdir -p "$prefix/sbin"
install -m 755 "$from/spindle-agent" "$prefix/sbin/spindle-agent"
if [ -d "$from/guest" ]; then
    # From now on the lab can boot this disk: with a job disk the agent starts, without one nothing is different.
    install -m 755 "$from/spindle-agent" "$from/confined" "$from/stopwatch" "$from/guest"
    sh "$from/guest/install.sh" "$from/guest"
fi
echo "provision: workloads are in $prefix/workloads, the agent is $prefix/sbin/spindle-agent"
