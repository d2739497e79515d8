#!/bin/sh
# Packs Stoa for machines that have nothing of it: dist.sh tar|deb, into bin/dist.
#
# The program is built anew, without symbols and with RocksDB linked statically: that
# of ROCKSDB_PREFIX, or the one that `make rocksdb` has made. Of shared libraries it takes
# libc and libm alone, and none older than those that it was built with; it says which.
# What is in a tar or a package of one commit, and when, is the same in every build.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../../.." && pwd)
cd "$repo"

fail() {
	echo "dist: $*" >&2
	exit 1
}

kind=${1:-}
case $kind in
tar | deb) ;;
*) fail "say tar or deb" ;;
esac
[ "$(uname -s)" = Linux ] || fail "packages are made on Linux"

# A static library in a folder with no shared one is what env.sh needs to see.
if [ -z "${ROCKSDB_PREFIX:-}" ]; then
	ROCKSDB_PREFIX=$repo/bin/rocksdb
	[ -r "$ROCKSDB_PREFIX/built" ] || fail "no RocksDB to link statically: run make rocksdb (half an hour, once), or set ROCKSDB_PREFIX"
fi
export ROCKSDB_PREFIX
[ -r "$ROCKSDB_PREFIX/lib/librocksdb.a" ] || fail "$ROCKSDB_PREFIX/lib has no librocksdb.a"
flags=$(sh engine/rocks/compat/env.sh)
eval "$flags"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
go build -buildvcs=true -trimpath -ldflags='-s -w' -o "$work/stoa" ./cmd/stoa ||
	fail "it did not build; the version is taken from git, which has to be installed and to own this tree"

shared=$(readelf -d "$work/stoa" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for library in $shared; do
	case $library in
	libc.so.* | libm.so.* | ld-linux*) ;;
	*) fail "the program takes $library, which other machines may not have" ;;
	esac
done
libc=$(readelf -V "$work/stoa" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
libc=${libc#GLIBC_}
version=$("$work/stoa" version --json | sed 's/.*"version":"v\{0,1\}\([^"]*\)".*/\1/')
date=$(git log -1 --format=%cI)
arch=$(go env GOARCH)
out=$repo/bin/dist
mkdir -p "$out"

# said APACHE FILE... prints licenses; the text of Apache's is in APACHE.
said() {
	apache=$1
	shift
	for file; do
		if grep -q 'Apache License' "$file" && grep -q 'Version 2.0, January 2004' "$file"; then
			echo "The Apache License 2.0: $apache"
		else
			cat "$file"
		fi
	done
}

# licenses APACHE prints what all that is in the program is under.
licenses() {
	printf 'Copyright: the authors of Stoa\nLicense: the Apache License 2.0: %s\n\nIts program holds the libraries below.\n' "$1"
	for file in "$ROCKSDB_PREFIX"/licenses/*; do
		printf '\n==== %s\n\n' "${file##*/}"
		said "$1" "$file"
	done
	go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/stoa | sort -u |
		while read -r module its dir; do
			printf '\n==== %s %s\n\n' "$module" "$its"
			said "$1" $(find "$dir" -maxdepth 1 -type f \( -iname 'licen*' -o -iname 'copying*' -o -iname 'notice*' \) | sort)
		done
}

case $kind in
tar)
	name=stoa-$version-linux-$arch
	STOA=$work/stoa DESTDIR=$work/root PREFIX=/usr/local sh "$here/install.sh" install
	mv "$work/root/usr/local" "$work/$name"
	licenses "LICENSE beside this file" >"$work/$name/share/doc/stoa/LICENSES.libraries"
	file=$out/$name.tar.gz
	tar -C "$work" --sort=name --mtime="$date" --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -9n >"$file"
	;;
deb)
	# What precedes a version comes before it, and a package of its own makers has no revision.
	case $version in
	*-*) version=${version%%-*}~$(printf %s "${version#*-}" | tr - .) ;;
	esac
	STOA=$work/stoa DESTDIR=$work/root PREFIX=/usr sh "$here/install.sh" install
	root=$work/root/usr
	mkdir -p "$root/share/zsh/vendor-completions"
	mv "$root/share/zsh/site-functions/_stoa" "$root/share/zsh/vendor-completions/_stoa"
	rmdir "$root/share/zsh/site-functions"
	gzip -9n "$root"/share/man/man1/*
	rm "$root/share/doc/stoa/LICENSE"
	{
		printf 'stoa (%s) unstable; urgency=medium\n\n' "$version"
		printf '  * Built of its commit; CHANGELOG.md there has what a user would notice.\n\n'
		printf ' -- %s  %s\n' "$(sed -n 's/^maintainer: //p' "$here/nfpm.yaml")" "$(git log -1 --format=%cD)"
	} | gzip -9n >"$root/share/doc/stoa/changelog.gz"
	licenses /usr/share/common-licenses/Apache-2.0 >"$root/share/doc/stoa/copyright"
	install -D -m 644 "$here/lintian-overrides" "$root/share/lintian/overrides/stoa"
	file=$out/stoa_${version}_$arch.deb
	cp "$here/nfpm.yaml" "$here/postinst" "$here/prerm" "$here/postrm" "$work"
	epoch=$(git log -1 --format=%ct)
	(cd "$work" && VERSION=$version ARCH=$arch LIBC=$libc SOURCE_DATE_EPOCH=$epoch \
		"${NFPM:?}" package --config nfpm.yaml --packager deb --target "$file" >/dev/null)
	;;
esac
(cd "$out" && sha256sum "${file##*/}" >"${file##*/}.sha256")
echo "dist: $file, $(du -h "$file" | cut -f1), sha256 $(cut -d' ' -f1 "$file.sha256")"
echo "dist: $("$work/stoa" version | tr -s ' \n' ' ')"
echo "dist: the program is $(($(stat -c %s "$work/stoa") / 1000000)) MB large and takes glibc $libc or later, and nothing else"
