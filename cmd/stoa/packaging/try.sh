#!/bin/bash
# Tries what dist.sh has made on other systems: try.sh FOLDER... where each is a root of
# Debian or Ubuntu, such as engine/rocks/compat/portability.sh makes. The newest package is
# installed there, upgraded, removed and purged, and a daemon of it keeps a row; that of
# the newest tar does too. Nothing of it stays: FOLDER is below an overlay. Needs root.
set -euo pipefail

fail() {
	echo "try: $*" >&2
	exit 1
}

(($# > 0)) || fail "name at least one folder with a system in it"
((EUID == 0)) || fail "run it as root: mount and chroot need that"
dist=$(cd "$(dirname "$0")/../../../bin/dist" && pwd)
deb=$(ls -t "$dist"/*.deb | head -n 1)
tar=$(ls -t "$dist"/*.tar.gz | head -n 1)

# All mounts below are private to this process and gone when it ends.
if [[ -z ${STOA_TRY_NAMESPACE:-} ]]; then
	STOA_TRY_NAMESPACE=1 exec unshare --mount --pid --fork --propagation private -- bash "$0" "$@"
fi

# inside is what is done there; $1 is the package, $2 the tar.
inside() {
	set -eu
	keeps() { # a daemon of the program $1 keeps a row
		dir=$(mktemp -d)
		"$1" serve --dir "$dir/data" >"$dir/log" 2>&1 &
		for _ in $(seq 100); do
			if "$1" status --dir "$dir/data" >/dev/null 2>&1; then break; fi
			sleep 0.1
		done
		"$1" kv put greeting '"hello"' --tenant try --dir "$dir/data" >/dev/null
		"$1" kv get greeting --tenant try --dir "$dir/data" | grep -q hello
		kill %1
		wait %1
		"$1" verify "$dir/data" >/dev/null
		rm -rf "$dir"
	}
	begun=$(date +%s%N)
	apt-get -qq install -y --no-install-recommends "$1" >/dev/null 2>/tmp/apt.log || { cat /tmp/apt.log >&2; exit 1; }
	echo "  installed in $((($(date +%s%N) - begun) / 1000000)) ms: $(stoa version | tr -s ' \n' ' ')"
	getent passwd stoa >/dev/null
	keeps stoa
	mkdir -p /var/lib/stoa/data
	apt-get -qq install -y --reinstall "$1" >/dev/null 2>&1
	apt-get -qq remove -y stoa >/dev/null 2>&1
	[ ! -e /usr/bin/stoa ] && [ -d /var/lib/stoa/data ]
	apt-get -qq purge -y stoa >/dev/null 2>&1
	[ ! -e /var/lib/stoa ]
	[ -z "$(dpkg -l stoa 2>/dev/null | grep ^.i)" ]
	find /usr /etc -name '*stoa*' ! -name 90stoa-host | { ! grep .; } 
	tar -xzf "$2" -C /usr/local --strip-components=1 --no-same-owner
	keeps /usr/local/bin/stoa
	echo "  upgraded, removed and purged; the tar's program keeps rows too"
}

mount -t tmpfs tmpfs /mnt
for root; do
	[[ -x $root/usr/bin/apt-get ]] || fail "$root has no system with apt"
	name=${root##*/}
	mkdir -p "/mnt/$name/"{upper,work,root}
	mount -t overlay -o "lowerdir=$root,upperdir=/mnt/$name/upper,workdir=/mnt/$name/work" overlay "/mnt/$name/root"
	mount -t proc proc "/mnt/$name/root/proc"
	mount --rbind /dev "/mnt/$name/root/dev"
	cp "$deb" "$tar" "/mnt/$name/root/tmp"
	echo "try: $name, $(. "$root/etc/os-release" && echo "$PRETTY_NAME")"
	chroot "/mnt/$name/root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
		bash -c "$(declare -f inside); inside /tmp/${deb##*/} /tmp/${tar##*/}" </dev/null || fail "$name FAILED"
	umount -R "/mnt/$name/root"
done
