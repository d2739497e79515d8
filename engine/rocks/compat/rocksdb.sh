#!/bin/sh
# Builds RocksDB for release into a folder of its own: engine/rocks/compat/rocksdb.sh
# FOLDER, or make rocksdb, which takes bin/rocksdb. With ROCKSDB_PREFIX=FOLDER, make
# then builds, tests and measures with it.
#
# The source is that of Debian's package, of one version and known by its hash. It is
# compiled without assertions, and for processors with SSE 4.2 and PCLMUL (of 2010 and
# later) or ARMv8's CRC, which make the checksums of logs several times cheaper; a
# distribution's package has to run on older ones. FOLDER/lib has static libraries
# only, those of the compressors and of C++ among them, so that a program takes nothing
# of the machine but its libc; FOLDER/licenses says what they are under.
#
# Takes some half an hour on two processors, once: FOLDER/built says of what it is.
set -eu

version=9.10.0
hash=fdccab16133c9d927a183c2648bcea8d956fb41eb1df2aacaa73eb0b95e43724
mirrors='http://deb.debian.org/debian/pool/main/r/rocksdb https://snapshot.debian.org/archive/debian/20250601T000000Z/pool/main/r/rocksdb'
compressors='snappy lz4 zstd z bz2'

fail() {
	echo "rocksdb: $*" >&2
	exit 1
}

[ $# -eq 1 ] || fail "name the folder to install into"
[ "$(uname -s)" = Linux ] || fail "this recipe is for Linux; elsewhere the system's package will do"
case $(uname -m) in
x86_64) march=x86-64-v2 more=-mpclmul ;;
aarch64) march=armv8-a+crc+crypto more= ;;
*) fail "no recipe for $(uname -m): build RocksDB $version by its own INSTALL.md, and set ROCKSDB_PREFIX" ;;
esac
made="RocksDB $version, sha256 $hash, release, $march $more, $("${CXX:-c++}" -dumpfullversion) of $(. /etc/os-release && echo "$PRETTY_NAME")"

mkdir -p "$1"
folder=$(cd "$1" && pwd)
if [ "$(cat "$folder/built" 2>/dev/null)" = "$made" ]; then
	echo "rocksdb: $folder is up to date: $made"
	exit
fi
work=$folder/work
rm -rf "$work" "$folder/built"
mkdir -p "$work"

# fetch FILE gets the source from the first mirror that has it.
fetch() {
	for mirror in $mirrors; do
		url=$mirror/rocksdb_$version.orig.tar.gz
		if [ -x /usr/lib/apt/apt-helper ]; then
			/usr/lib/apt/apt-helper -q download-file "$url" "$1" && return
		elif command -v curl >/dev/null; then
			curl -fsSL -o "$1" "$url" && return
		else
			fail "curl is missing"
		fi
	done
	fail "the source of RocksDB $version can't be had from: $mirrors"
}

# archive NAME prints where the compiler finds a static library.
archive() {
	file=$("${CXX:-c++}" -print-file-name="lib$1.a")
	[ -r "$file" ] || fail "lib$1.a is missing"
	printf '%s\n' "$file"
}

fetch "$work/source.tar.gz"
echo "$hash  $work/source.tar.gz" | sha256sum --quiet --check - || fail "what was fetched is not the source of RocksDB $version"
tar -xzf "$work/source.tar.gz" -C "$work"
source=$work/rocksdb-$version

# What its makefile finds on the machine would else become part of it.
echo "rocksdb: compiling $made; what the compiler says is in $folder/log"
env PORTABLE="$march" EXTRA_CXXFLAGS="$more" DISABLE_WARNING_AS_ERROR=1 DEBUG_LEVEL=0 USE_RTTI=1 \
	ROCKSDB_DISABLE_GFLAGS=1 ROCKSDB_DISABLE_JEMALLOC=1 ROCKSDB_DISABLE_TCMALLOC=1 ROCKSDB_DISABLE_NUMA=1 \
	ROCKSDB_DISABLE_TBB=1 ROCKSDB_DISABLE_MEMKIND=1 ROCKSDB_DISABLE_BENCHMARK=1 ROCKSDB_USE_IO_URING=0 \
	make -C "$source" -j"$(getconf _NPROCESSORS_ONLN)" PREFIX="$folder" static_lib install-static >"$folder/log" 2>&1 ||
	{ tail -n 20 "$folder/log" >&2; fail "it did not compile; all of it is in $folder/log"; }

# What it takes goes into the same archive, so that its place among a linker's arguments
# does not matter, and beside it, so that no shared one is found first.
mkdir -p "$folder/licenses"
cp "$source/LICENSE.Apache" "$folder/licenses/rocksdb"
cp "$source/LICENSE.leveldb" "$folder/licenses/rocksdb-leveldb"
{
	echo "create $work/whole.a"
	echo "addlib $folder/lib/librocksdb.a"
	for name in $compressors; do
		archive=$(archive "$name")
		cp "$archive" "$folder/lib"
		echo "addlib $archive"
	done
	echo save
	echo end
} >"$work/merge"
ar -M <"$work/merge"
strip --strip-debug "$work/whole.a"
ranlib "$work/whole.a"
mv "$work/whole.a" "$folder/lib/librocksdb.a"
cp "$(archive stdc++)" "$folder/lib"
for package in libsnappy-dev liblz4-dev libzstd-dev zlib1g-dev libbz2-dev; do
	[ ! -r "/usr/share/doc/$package/copyright" ] || cp "/usr/share/doc/$package/copyright" "$folder/licenses/$package"
done
rm -rf "$work"
echo "$made" >"$folder/built"
echo "rocksdb: $folder has $made"
