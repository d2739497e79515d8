#!/bin/sh
# Sees to it that Stoa can be built here: Go, a C and C++ compiler, and the
# headers of RocksDB and of the compressors that it is linked with. On Debian
# and Ubuntu it installs what is missing with apt-get; elsewhere it says what to
# install. When nothing is missing it only looks, and prints nothing.
#
# On a terminal it asks first; without one, or with CI=true, it never asks.
set -eu

repo=$(cd "$(dirname "$0")/../../.." && pwd)
compat=$repo/engine/rocks/compat

fail() {
	echo "deps: $*" >&2
	exit 1
}

# check_go demands the Go that go.mod asks for. A Go of 1.21 or later may fetch
# that one by itself, so go is asked inside the repository.
check_go() {
	want=$(awk '$1 == "go" { print $2; exit }' "$repo/go.mod")
	command -v go >/dev/null ||
		fail "Go is not installed (or not on PATH). Stoa needs Go $want or later: https://go.dev/dl"
	have=$(cd "$repo" && go env GOVERSION 2>&1) ||
		fail "Stoa needs Go $want or later, and go answers: $have"
	printf '%s %s\n' "${have#go}" "$want" | awk '{
		split($1, have, /[^0-9]+/); split($2, want, /[^0-9]+/)
		for (i = 1; i <= 3; i++) if (have[i] + 0 != want[i] + 0) exit have[i] + 0 < want[i] + 0
	}' || fail "Stoa needs Go $want or later, this is $have: https://go.dev/dl"
}

# found HEADER tells whether a C compiler would find it.
found() {
	for dir in ${ROCKSDB_PREFIX:+"$ROCKSDB_PREFIX/include"} /usr/local/include /usr/include \
		/opt/homebrew/include /home/linuxbrew/.linuxbrew/include; do
		[ ! -r "$dir/$1" ] || return 0
	done
	# macOS keeps zlib and bzip2 in its SDK.
	sdk=$(xcrun --show-sdk-path 2>/dev/null) && [ -r "$sdk/usr/include/$1" ]
}

# missing prints the Debian names of what is not here.
missing() {
	command -v "${CC:-cc}" >/dev/null || echo gcc
	command -v "${CXX:-c++}" >/dev/null || echo g++
	# A compiler without the C library's headers is what a bare "gcc" leaves.
	found stdlib.h || echo libc6-dev
	found rocksdb/c.h || echo librocksdb-dev
	found snappy.h || echo libsnappy-dev
	found lz4.h || echo liblz4-dev
	found zstd.h || echo libzstd-dev
	found zlib.h || echo zlib1g-dev
	found bzlib.h || echo libbz2-dev
}

# install_apt PACKAGE... installs them. Repositories of other parties may be out
# of reach, so a failed update is only fatal if the installation then fails too.
install_apt() {
	sudo=
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || fail "missing: $*. Install as root: apt-get install $*"
		sudo=sudo
	fi
	echo "deps: Stoa is built on RocksDB, in C++; missing here: $*" >&2
	echo "deps: will run: ${sudo:+$sudo }apt-get install $*" >&2
	if [ "${CI:-}" != true ] && [ -t 0 ] && [ -t 1 ]; then
		printf 'deps: go on? [Y/n] ' >&2
		read -r answer
		case $answer in
		'' | [Yy]*) ;;
		*) fail "nothing was installed" ;;
		esac
	else
		sudo=${sudo:+sudo -n}
	fi
	as_root="$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120"
	$as_root update </dev/null >&2 || echo "deps: apt-get update failed; going on with the lists at hand" >&2
	$as_root install -y --no-install-recommends "$@" </dev/null >&2 ||
		fail "apt-get could not install: $*"
}

explain() {
	fail "missing (by their Debian names): $*
  macOS:          brew install rocksdb snappy lz4 zstd
  Fedora:         dnf install gcc-c++ rocksdb-devel snappy-devel lz4-devel libzstd-devel zlib-devel bzip2-devel
  Arch:           pacman -S base-devel rocksdb
  another prefix: make ROCKSDB_PREFIX=/where/it/is (a folder with include/rocksdb/c.h and lib/)
RocksDB 7.8 to 11.x is supported."
}

# check_version refuses a RocksDB that nobody has built Stoa with.
check_version() {
	lines=$(sh "$compat/env.sh") || exit 1
	version=$(printf '%s\n' "$lines" | awk 'NR == 1 { print $3 }')
	printf '%s\n' "$version" | awk -F. '{ exit $1 < 7 || ($1 == 7 && $2 < 8) }' ||
		fail "RocksDB $version is too old: 7.8 (Debian 12) is the oldest that Stoa builds with"
}

check_go
packages=$(missing)
if [ -n "$packages" ]; then
	# Names of packages hold no blanks: one word each.
	# shellcheck disable=SC2086
	if command -v apt-get >/dev/null; then install_apt $packages; else explain $packages; fi
	packages=$(missing)
	[ -z "$packages" ] || fail "still missing after the installation: $(echo $packages)"
fi
check_version
