#!/bin/sh
# SPDX-License-Identifier: MIT
# load-modules NAME...   load kernel modules that are in this image, and what they depend on
set -eu
here=${0%/*}/modules
for name; do
    if [ ! -f "$here/$name" ]; then
        echo "load-modules: no module $name in this image; lab/volumes/modules.txt lists them" >&2
        exit 1
    fi
    while read -r kind module; do
        if [ -d "/sys/module/$module" ]; then
            continue
        fi
        case $kind in
            here) insmod "$here/$module.ko" ;;
            *) modprobe "$module" ;;
        esac
    done <"$here/$name"
done
