#!/bin/sh
# SPDX-License-Identifier: MIT
# fio-rawio: issue rawio's requests with fio, as a cross-check of rawio.
# Takes rawio's options and prints the same metric lines; the pattern itself
# comes from `rawio --print-pattern`, so seeds mean the same in both.
set -eu

fail() {
    echo "fio-rawio: $1" >&2
    exit 1
}

device='' op='' depth=128 request_bytes=8192 bytes=10485760
previous=''
for word in "$@"; do
    case $previous in
    --device) device=$word ;;
    --op) op=$word ;;
    --children) depth=$word ;;
    --bytes) bytes=$word ;;
    --request-bytes) request_bytes=$word ;;
    esac
    previous=$word
done
jobs=${FIO_RAWIO_JOBS:-$(dirname "$0")/share}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# rawio checks all options, also those that are not read here.
rawio "$@" --print-pattern >"$scratch/offsets" || fail "rawio refuses the options; see above"
{
    echo "fio version 2 iolog"
    echo "$device add"
    echo "$device open"
    while read -r offset; do
        echo "$device $op $offset $request_bytes"
    done <"$scratch/offsets"
} >"$scratch/log"

FIO_RAWIO_DEVICE=$device FIO_RAWIO_LOG=$scratch/log FIO_RAWIO_DEPTH=$depth FIO_RAWIO_BYTES=$bytes \
    fio --output-format=terse --terse-version=3 --eta=never --output="$scratch/result" \
    "$jobs/rawio.fio" || fail "fio failed; see above"

# fio's manual, "Terse output": field 5 is the error; of the read group (6 on)
# and the write group (47 on) the first is KiB moved, the fourth milliseconds.
awk -F ';' -v op="$op" -v bytes_wanted="$bytes" -v request_bytes="$request_bytes" '
    $1 == 3 {
        group = op == "read" ? 6 : 47
        bytes = $group * 1024
        printf "metric elapsed_ns %d000000\n", $(group + 3)
        printf "metric bytes %d\n", bytes
        printf "metric requests %d\n", bytes / request_bytes
        found = $5 == 0 && bytes == bytes_wanted
    }
    END { exit !found }
' "$scratch/result" || fail "fio did not move every byte: $(cat "$scratch/result")"
