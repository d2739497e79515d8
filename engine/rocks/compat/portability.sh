#!/usr/bin/env bash
# Builds and tests this working tree, uncommitted changes included, in a chroot
# of each release of Debian or Ubuntu that is named:
#
#   engine/rocks/compat/portability.sh [-c COMMAND] bookworm trixie noble
#
# COMMAND runs there instead of the whole `make test`, behind the flags for go
# that `make env` prints, as: -c 'go test -count=1 ./engine/rocks'.
#
# Needs root and debootstrap. Each chroot is made once, below $STOA_CHROOTS
# (default /var/tmp/stoa-chroots), from the mirror of Debian that this machine
# uses or Ubuntu's own, and holds only make and certificates: what a build needs is
# installed there by `make deps`, which is so tested too. Go and its downloaded
# modules are this machine's, mounted read-only in a mount namespace of their own
# that ends with the script. The build caches stay in the chroot. What is said is
# also in RELEASE.log there. A release that fails does not keep the next ones from
# being tried.
set -euo pipefail

repo=$(cd "$(dirname "$0")/../../.." && pwd)
chroots=${STOA_CHROOTS:-/var/tmp/stoa-chroots}
ubuntu=https://archive.ubuntu.com/ubuntu
given=() # the options, for the process that the mounts are made in

fail() {
	echo "portability: $*" >&2
	exit 1
}

command="make --no-print-directory test TESTFLAGS=-count=1"
if [[ ${1:-} == -c ]]; then
	(($# > 1)) || fail "-c wants a command"
	given=("$1" "$2")
	command=$2
	shift 2
fi
(($# > 0)) || fail "name at least one release, such as: bookworm trixie noble"
[[ $(uname -s) == Linux ]] || fail "chroots need Linux"
((EUID == 0)) || fail "run it as root: debootstrap, mount and chroot need that"
for tool in debootstrap unshare chroot go; do
	command -v "$tool" >/dev/null || fail "$tool is missing (on Debian: apt-get install debootstrap util-linux)"
done

# All mounts below are private to this process and gone when it ends.
if [[ -z ${STOA_PORTABILITY_NAMESPACE:-} ]]; then
	STOA_PORTABILITY_NAMESPACE=1 exec unshare --mount --propagation private -- bash "$0" "${given[@]}" "$@"
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

# is_ubuntu RELEASE says whose it is.
is_ubuntu() {
	case $1 in
	focal | jammy | noble | plucky | questing | resolute) return 0 ;;
	*) return 1 ;;
	esac
}

# ubuntu_keys prints the file with the keys that Ubuntu signs with. Where no package
# has brought it, it is taken out of that of Ubuntu 24.04, which is known by its hash.
ubuntu_keys() {
	local keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg deb=ubuntu-keyring_2023.11.28.1_all.deb
	local hash=36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8
	if [[ ! -r $keys ]]; then
		keys=$chroots/ubuntu-archive-keyring.gpg
		[[ -r $keys ]] || { curl -fsS -o "$chroots/$deb" "$ubuntu/pool/main/u/ubuntu-keyring/$deb" &&
			sha256sum --quiet --check - <<<"$hash  $chroots/$deb" >&2 &&
			dpkg-deb --fsys-tarfile "$chroots/$deb" | tar -xO ./usr/share/keyrings/ubuntu-archive-keyring.gpg >"$keys.new" &&
			mv "$keys.new" "$keys"; } || fail "the keys of Ubuntu can't be had; install the package ubuntu-keyring"
	fi
	printf '%s\n' "$keys"
}

# make_chroot RELEASE FOLDER makes it whole or leaves nothing under its name.
make_chroot() {
	local from options=(--variant=minbase --include=make,ca-certificates) how=()
	echo "portability: making a chroot of $1 in $2"
	mkdir -p "$chroots"
	rm -rf "$2.new"
	if is_ubuntu "$1"; then
		from=${ubuntu/https/http} # a minimal system has no certificates yet; packages are signed
		options+=(--components=main,universe "--keyring=$(ubuntu_keys)")
		# All releases of Ubuntu are made alike; an older debootstrap lacks the names of newer ones.
		[[ -e /usr/share/debootstrap/scripts/$1 ]] || how=(/usr/share/debootstrap/scripts/gutsy)
	else
		from=$(mirror)
	fi
	debootstrap "${options[@]}" "$1" "$2.new" "$from" "${how[@]}" >"$2.debootstrap.log" 2>&1 ||
		{ tail -n 20 "$2.debootstrap.log" >&2; fail "debootstrap of $1 failed; its whole output is in $2.debootstrap.log"; }
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

# check RELEASE builds and tests there.
check() {
	local root=$chroots/$1
	[[ -d $root ]] || make_chroot "$1" "$root"
	copy_tree "$root/src/stoa"
	mount_into "$root"
	inside "$root" 'make --no-print-directory deps env build'
	inside "$root" 'eval "$(make -s env)" && '"$command"
}

mkdir -p "$chroots"
failed=()
for release; do
	begun=$SECONDS
	log=$chroots/$release.log
	# Not the left side of an || or an if: set -e would not count there.
	set +e
	(set -e; check "$release") 2>&1 | tee "$log"
	ended=${PIPESTATUS[0]}
	set -e
	if ((ended == 0)); then
		echo "portability: $release passed in $((SECONDS - begun)) s"
	else
		failed+=("$release")
		echo "portability: $release FAILED after $((SECONDS - begun)) s; all of it is in $log:"
		grep -E '^ *--- FAIL|^FAIL|^panic:|^portability:' "$log" | head -n 40 || true
	fi
done
((${#failed[@]} == 0)) || fail "failed: ${failed[*]}"
