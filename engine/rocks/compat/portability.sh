#!/usr/bin/env bash
# Builds and tests this working tree, uncommitted changes included, in a chroot
# of each Debian release that is named:
#
#   engine/rocks/compat/portability.sh bookworm trixie
#
# Needs root and debootstrap. Each chroot is made once, below $STOA_CHROOTS
# (default /var/tmp/stoa-chroots), from the package mirror that this machine
# uses, and holds only make and certificates: what a build needs is installed
# there by `make deps`, which is so tested too. Go and its downloaded modules are
# this machine's, mounted read-only in a mount namespace of their own that ends
# with the script. The build caches stay in the chroot.
set -euo pipefail

repo=$(cd "$(dirname "$0")/../../.." && pwd)
chroots=${STOA_CHROOTS:-/var/tmp/stoa-chroots}

fail() {
	echo "portability: $*" >&2
	exit 1
}

(($# > 0)) || fail "name at least one Debian release, such as: bookworm trixie"
[[ $(uname -s) == Linux ]] || fail "chroots of Debian need Linux"
((EUID == 0)) || fail "run it as root: debootstrap, mount and chroot need that"
for tool in debootstrap unshare chroot go; do
	command -v "$tool" >/dev/null || fail "$tool is missing (on Debian: apt-get install debootstrap util-linux)"
done

# All mounts below are private to this process and gone when it ends.
if [[ -z ${STOA_PORTABILITY_NAMESPACE:-} ]]; then
	STOA_PORTABILITY_NAMESPACE=1 exec unshare --mount --propagation private -- bash "$0" "$@"
fi

goroot=$(cd "$repo" && go env GOROOT)
modules=$(cd "$repo" && go env GOMODCACHE)

# mirror prints where this machine's apt gets Debian from.
mirror() {
	apt-get indextargets --format '$(SITE) $(LABEL) $(ORIGIN) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
		awk '/ Debian / { print $1; exit }' | grep . ||
		apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | head -n 1 | grep . ||
		fail "apt knows no package mirror; run apt-get update once"
}

# make_chroot RELEASE FOLDER makes it whole or leaves nothing under its name.
make_chroot() {
	echo "portability: making a chroot of $1 in $2"
	mkdir -p "$chroots"
	rm -rf "$2.new"
	debootstrap --variant=minbase --include=make,ca-certificates "$1" "$2.new" "$(mirror)" >"$2.log" 2>&1 ||
		{ tail -n 20 "$2.log" >&2; fail "debootstrap of $1 failed; its whole output is in $2.log"; }
	mv "$2.new" "$2"
}

# copy_tree FOLDER lays a fresh copy of the tracked and new files there.
copy_tree() {
	rm -rf "$1"
	mkdir -p "$1"
	(cd "$repo" && git ls-files -z --cached --others --exclude-standard |
		while IFS= read -r -d '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done |
		tar --null --files-from=- -cf -) | tar -xf - -C "$1"
}

mount_into() {
	mkdir -p "$1/proc" "$1/dev" "$1/opt/go" "$1/opt/modules"
	mount --rbind /proc "$1/proc"
	mount --rbind /dev "$1/dev"
	mount --bind "$goroot" "$1/opt/go"
	mount -o remount,bind,ro "$1/opt/go"
	mount --bind "$modules" "$1/opt/modules"
	mount -o remount,bind,ro "$1/opt/modules"
	# apt inside reaches the mirror in the way that apt outside does.
	cp /etc/resolv.conf "$1/etc/resolv.conf"
	apt-config dump | grep -iE '^Acquire::(http|https)::(Proxy|CaInfo)' >"$1/etc/apt/apt.conf.d/90stoa-host" || true
}

# inside FOLDER COMMAND runs it in the copy with nothing of this environment but
# what is named here. Modules come from the mount, never from a network.
inside() {
	chroot "$1" /usr/bin/env -i HOME=/root LANG=C.UTF-8 CI=true \
		PATH=/opt/go/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		GOMODCACHE=/opt/modules GOPROXY=off GOFLAGS='-mod=readonly -buildvcs=false' GOTOOLCHAIN=local \
		sh -c "cd /src/stoa && $2" </dev/null
}

# Fetch every module that a test may import while there is a network.
(cd "$repo" && go list -deps -test ./... >/dev/null)

for release; do
	root=$chroots/$release
	begun=$SECONDS
	[[ -d $root ]] || make_chroot "$release" "$root"
	copy_tree "$root/src/stoa"
	mount_into "$root"
	inside "$root" 'make --no-print-directory deps env build'
	inside "$root" 'make --no-print-directory test TESTFLAGS=-count=1'
	echo "portability: $release passed in $((SECONDS - begun)) s"
done
