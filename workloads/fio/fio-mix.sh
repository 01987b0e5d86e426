#!/bin/sh
# SPDX-License-Identifier: MIT
# fio-mix: the mix of a macro benchmark as far as fio can express it, in phases: create, fill, run, delete.
#
#     fio-mix --dir DIR --seed N [--scale S] --mix varmail|fileserver|postmark|netnews
#
# share/MIX.fio is the job file; this script sets its variables, times its sections, and checks what they left.
set -eu

fail() {
    echo "fio-mix: $1" >&2
    exit 1
}

dir='' seed='' scale=1 mix=''
while [ $# -gt 0 ]; do
    case $1 in
    --dir | --seed | --scale | --mix) [ $# -ge 2 ] || fail "$1 needs a value" ;;
    *) fail "there is no option '$1'; there are --dir, --seed, --scale and --mix" ;;
    esac
    case $1 in
    --dir) dir=$2 ;;
    --seed) seed=$2 ;;
    --scale) scale=$2 ;;
    --mix) mix=$2 ;;
    esac
    shift 2
done
case $mix in # of everyone at scale 1: jobs, files, operations of phase run, its seconds
varmail) jobs=16 files=800 operations=0 run_s=60 ;;
fileserver) jobs=50 files=8000 operations=0 run_s=60 ;;
postmark) jobs=1 files=25000 operations=20000 run_s=0 ;;
netnews) jobs=16 files=48000 operations=0 run_s=0 ;;
*) fail "--mix is '$mix'; it can be varmail, fileserver, postmark or netnews" ;;
esac
case $seed in '' | *[!0-9]*) fail "--seed is '$seed'; it must be a whole number" ;; esac
case $scale in '' | *[!0-9.]* | *.*.*) fail "--scale is '$scale'; it must be a decimal above 0, at most 1" ;; esac
case $dir in *:*) fail "--dir has a colon, with which fio separates directories" ;; esac
[ -d "$dir" ] || fail "--dir '$dir' is not a directory"
[ -z "$(find "$dir" -type f | head -n 1)" ] || fail "--dir $dir has files in it; give an empty one"

dir=$(cd "$dir" && pwd)
millionths=$(awk -v scale="$scale" 'BEGIN { printf "%d", scale * 1000000 + 0.5 }')
{ [ "$millionths" -gt 0 ] && [ "$millionths" -le 1000000 ]; } || fail "--scale is $scale; it must be above 0, at most 1"
files_each=$(((files * millionths / 1000000 + jobs - 1) / jobs))
[ "$files_each" -gt 0 ] || files_each=1
directories=''
job=0
while [ "$job" -lt "$jobs" ]; do
    mkdir -p "$dir/$job"
    directories="$directories${directories:+:}$dir/$job"
    job=$((job + 1))
done
operations=$((operations * millionths / 1000000))
[ "$operations" -gt 0 ] || operations=1

share=$(cd "$(dirname "$0")" && pwd)/share
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# A job of one file takes a device that is called like the job, and / has a "run" in it: nothing of that kind is here.
cd "$scratch"
export FIO_MIX_DIRECTORIES="$directories" FIO_MIX_SEED="$seed" FIO_MIX_JOBS="$jobs" FIO_MIX_FILES="$files_each" \
    FIO_MIX_OPERATIONS="$operations" FIO_MIX_RUN_MS=$((run_s * millionths / 1000))

expect_files() {
    found=$(find "$dir" -type f | wc -l)
    [ "$found" -eq "$1" ] || fail "after $2 there are $found files, not $1"
}

for section in create fill run delete; do
    grep -q "^\[$section\]" "$share/$mix.fio" || continue
    stopwatch phase "$section" fio --section="$section" --output-format=terse --terse-version=3 --eta=never \
        --output="$scratch/$section" "$share/$mix.fio" >"$scratch/phase" || {
            cat "$scratch/$section" >&2 || :
            fail "fio failed in $section; its words are above"
        }
    cat "$scratch/phase"
    cat "$scratch/phase" >>"$scratch/phases"
    [ "$section" = delete ] || expect_files $((jobs * files_each)) "$section"
done
expect_files 0 delete

# fio's manual, "Terse output": field 5 is the error, field 6 KiB read, field 47 KiB written.
cat "$scratch/fill" "$scratch/run" 2>/dev/null | awk -F ';' '
    $1 == 3 { read += $6; written += $47; lines++; errors += $5 != 0 }
    END { printf "metric read_bytes %.0f\nmetric written_bytes %.0f\n", read * 1024, written * 1024; exit !lines || errors }
' || fail "fio reports an error: $(cat "$scratch/fill" "$scratch/run" 2>/dev/null)"
awk -v files=$((jobs * files_each)) '
    { sum += $4 - $3 }
    END { printf "metric elapsed_ns %.0f\nmetric files %d\n", sum, files }
' "$scratch/phases"
