#!/bin/sh
# Prints the shell lines under which Go builds against the RocksDB of this
# machine: eval "$(sh engine/rocks/compat/env.sh)", or eval "$(make -s env)".
#
# RocksDB 7.x under /usr needs no flags; then only a comment is printed. From
# 8.0 on the shadow header goes first on the include path: the comment in
# include/rocksdb/c.h says why. ROCKSDB_PREFIX names another place to look in,
# a folder with include/ and lib/; what is there in a static library only (rocksdb.sh
# beside this makes such a one) is linked statically. What CGO_CFLAGS and CGO_LDFLAGS hold already
# is kept, and nothing is added twice.
#
# Exit 1, with a message on stderr: no RocksDB was found.
set -eu

compat=$(cd "$(dirname "$0")" && pwd)

# rocksdb_prefix prints the first prefix that holds RocksDB's headers, in the
# order in which compilers look, then Homebrew's.
rocksdb_prefix() {
	if [ -n "${ROCKSDB_PREFIX:-}" ]; then
		set -- "$ROCKSDB_PREFIX"
	else
		set -- /usr/local /usr /opt/homebrew /home/linuxbrew/.linuxbrew
	fi
	for prefix; do
		if [ -r "$prefix/include/rocksdb/c.h" ] && [ -r "$prefix/include/rocksdb/version.h" ]; then
			printf '%s\n' "$prefix"
			return
		fi
	done
	echo "no RocksDB headers under: $*. Run 'make deps', or set ROCKSDB_PREFIX to the folder whose include/ has rocksdb/c.h." >&2
	return 1
}

# version_of PREFIX prints MAJOR.MINOR.PATCH.
version_of() {
	awk '$1 == "#define" && $2 ~ /^ROCKSDB_(MAJOR|MINOR|PATCH)$/ { v[$2] = $3 }
		END { print v["ROCKSDB_MAJOR"] "." v["ROCKSDB_MINOR"] "." v["ROCKSDB_PATCH"] }' \
		"$1/include/rocksdb/version.h"
}

# with FLAGS FLAG prints FLAGS and, unless it is among them, FLAG.
with() {
	case " $1 " in
	*" $2 "*) printf '%s' "$1" ;;
	*) printf '%s' "${1:+$1 }$2" ;;
	esac
}

# assign NAME VALUE prints an export line that any POSIX shell reads back.
assign() {
	printf "export %s='%s'\n" "$1" "$(printf '%s' "$2" | sed "s/'/'\\\\''/g")"
}

prefix=$(rocksdb_prefix)
version=$(version_of "$prefix")
major=${version%%.*}
minor=${version#*.}
minor=${minor%%.*}
echo "# RocksDB $version in $prefix"

# -O2 -g is what Go itself uses when CGO_CFLAGS is not set. A path is quoted in
# the way that Go splits these variables, since it may hold a space.
cflags=${CGO_CFLAGS:--O2 -g}
ldflags=${CGO_LDFLAGS:--O2 -g}
changed=
if [ "$major" -ge 8 ]; then
	cflags=$(with "$cflags" "\"-I$compat/include\"")
	cflags=$(with "$cflags" "-DSTOA_ROCKSDB=$((major * 100 + minor))")
	changed=1
fi
if [ "$prefix" != /usr ]; then
	cflags=$(with "$cflags" "\"-I$prefix/include\"")
	ldflags=$(with "$ldflags" "\"-L$prefix/lib\"")
	if [ -r "$prefix/lib/librocksdb.a" ] && ! ls "$prefix"/lib/librocksdb.so* >/dev/null 2>&1; then
		cflags=$(with "$cflags" "-DSTOA_ROCKSDB_STATIC=$version")
		ldflags=$(with "$ldflags" -static-libgcc)
	else
		ldflags=$(with "$ldflags" "\"-Wl,-rpath,$prefix/lib\"")
	fi
	assign CGO_LDFLAGS "$ldflags"
	changed=1
fi
[ -z "$changed" ] || assign CGO_CFLAGS "$cflags"
