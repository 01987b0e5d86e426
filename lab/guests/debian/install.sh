#!/bin/sh
# SPDX-License-Identifier: MIT
# install.sh FOLDER: put the agent into a Debian that was just started. FOLDER has what the seed disk had.
set -eu

[ $# -eq 1 ] || { echo "usage: install.sh FOLDER" >&2; exit 2; }
seed=$1
units=${UNITS:-/etc/systemd/system}
rules=${RULES:-/etc/udev/rules.d}
programs=${PROGRAMS:-/usr/local}
mkdir -p "$programs/sbin" "$programs/bin" "$rules"
cp "$seed/spindle-agent" "$programs/sbin/spindle-agent"
cp "$seed/confined" "$seed/stopwatch" "$programs/bin/"
chmod 755 "$programs/sbin/spindle-agent" "$programs/bin/confined" "$programs/bin/stopwatch"
cp "$seed/spindle.target" "$seed/spindle-agent.service" "$units/"
cp "$seed/99-spindle.rules" "$rules/"
systemctl daemon-reload
systemctl set-default spindle.target
sync
