#!/bin/sh
# SPDX-License-Identifier: MIT
# fio-sqlio: issue sqlio's requests with fio, as a cross-check of sqlio.
# Takes sqlio's options for one device and fixed work, and prints its first
# metric lines; the requests come from `sqlio --print-pattern`, so seeds mean
# the same in both. Lies here and not beside fio-rawio, so that the image which
# other measurements boot with stays as it is.
set -eu

fail() {
    echo "fio-sqlio: $1" >&2
    exit 1
}

device='' op='' depth=1 kib=8 bytes=''
previous=''
for word in "$@"; do
    case $previous in
    --device)
        [ -z "$device" ] || fail "there are two devices; give one --device"
        device=$word
        ;;
    --op) op=$word ;;
    --depth) depth=$word ;;
    --kib) kib=$word ;;
    --bytes) bytes=$word ;;
    --caching) [ "$word" = drive ] || fail "--caching $word: fio goes past the page cache here; give drive" ;;
    esac
    previous=$word
done
[ "$depth" != 0 ] || fail "--depth 0: fio issues asynchronous requests here; give a depth from 1 on"
jobs=${FIO_SQLIO_JOBS:-$(dirname "$0")/share}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# sqlio checks all options, also those that are not read here.
sqlio "$@" --print-pattern >"$scratch/offsets" || fail "sqlio refuses the options; see above"
awk -v device="$device" -v op="$op" -v bytes=$((kib * 1024)) '
    BEGIN { print "fio version 2 iolog"; print device, "add"; print device, "open" }
    { print device, op, $1, bytes }
' "$scratch/offsets" >"$scratch/log"

FIO_SQLIO_DEVICE=$device FIO_SQLIO_LOG=$scratch/log FIO_SQLIO_DEPTH=$depth FIO_SQLIO_BYTES=$bytes \
    fio --output-format=terse --terse-version=3 --eta=never --output="$scratch/result" \
    "$jobs/sqlio.fio" || fail "fio failed; see above"

# fio's manual, "Terse output": field 5 is the error; of the read group (6 on)
# and the write group (47 on) the first is KiB moved, the fourth milliseconds.
awk -F ';' -v op="$op" -v bytes_wanted="$bytes" -v kib="$kib" '
    $1 == 3 {
        group = op == "read" ? 6 : 47
        bytes = $group * 1024
        printf "metric elapsed_ns %d000000\n", $(group + 3)
        printf "metric bytes %d\n", bytes
        printf "metric requests %d\n", $group / kib
        found = $5 == 0 && bytes == bytes_wanted
    }
    END { exit !found }
' "$scratch/result" || fail "fio did not move every byte: $(cat "$scratch/result")"
