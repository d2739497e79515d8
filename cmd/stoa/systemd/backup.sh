#!/bin/sh
# A backup of a daemon's store, for every night: backup.sh SOCKET TARGET [KEEP]
#
# The daemon goes on meanwhile. What is in TARGET/DATE was verified in full, and of
# such there are the newest KEEP (default 7): nothing is deleted before the new one
# is proved. If verification fails it exits 2, as stoa verify does, all old ones stay,
# and what was copied is in TARGET/DATE.unproved, until the next backup.
set -eu
socket=$1 target=$2 keep=${3:-7}
name=$(date +%Y-%m-%dT%H%M%S)

umask 077
mkdir -p "$target"
exec 9>"$target/lock"
flock -n 9 || { echo "another backup into $target is under way" >&2; exit 1; }

rm -rf "$target"/*.unproved
stoa checkpoint "$target/$name.unproved" --socket "$socket"
stoa verify --full "$target/$name.unproved"
mv "$target/$name.unproved" "$target/$name"

for old in $(ls "$target" | grep -x '[0-9-]*T[0-9]*' | sort -r | tail -n +$((keep + 1))); do
	rm -rf "${target:?}/$old"
done
