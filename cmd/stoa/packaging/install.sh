#!/bin/sh
# Installs what make build has made, or takes it away again: install.sh install|uninstall
#
#   PREFIX   where things are to be found later; /usr/local
#   DESTDIR  what to put before that, as packages do; empty
#   STOA     the program to install; bin/stoa
#
# A tree is laid out as systemd, man and the shells look for things below /usr and
# /usr/local. Nothing is started and no user is made: it says how.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../../.." && pwd)
prefix=${PREFIX:-/usr/local}
stoa=${STOA:-$repo/bin/stoa}
root=${DESTDIR:-}$prefix

fail() {
	echo "install: $*" >&2
	exit 1
}

case ${1:-} in
install | uninstall) ;;
*) fail "say install or uninstall" ;;
esac
case $prefix in
*[[:space:]]*) fail "PREFIX has a blank: units of systemd would not find it" ;;
/*) ;;
*) fail "PREFIX=$prefix is not an absolute path" ;;
esac
[ -x "$stoa" ] || fail "there is no $stoa: run make build first"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

# put MODE SOURCE TARGET does, or undoes, one file.
case $1 in
install)
	put() {
		install -d -m 755 "$(dirname "$root/$3")"
		install -m "$1" "$2" "$root/$3"
	}
	;;
uninstall)
	put() { rm -f "$root/$3"; }
	;;
esac

# unit FILE writes it with the paths of this prefix.
unit() {
	sed "s|/usr/bin/stoa|$prefix/bin/stoa|g; s|/usr/lib/stoa|$prefix/lib/stoa|g" "$here/../systemd/$1" >"$made/$1"
	put 644 "$made/$1" "lib/systemd/system/$1"
}

put 755 "$stoa" bin/stoa
"$stoa" man "$made/man" >/dev/null
for page in "$made"/man/*; do
	put 644 "$page" "share/man/man1/$(basename "$page")"
done
for shell in bash zsh fish; do
	"$stoa" completion "$shell" >"$made/$shell"
done
put 644 "$made/bash" share/bash-completion/completions/stoa
put 644 "$made/zsh" share/zsh/site-functions/_stoa
put 644 "$made/fish" share/fish/vendor_completions.d/stoa.fish
unit stoa.service
unit stoa-backup.service
unit stoa-backup.timer
put 755 "$here/../systemd/backup.sh" lib/stoa/backup.sh
put 644 "$here/stoa.sysusers" lib/sysusers.d/stoa.conf
put 644 "$repo/LICENSE" share/doc/stoa/LICENSE

if [ "$1" = uninstall ]; then
	rmdir "$root/lib/stoa" "$root/share/doc/stoa" 2>/dev/null || true
	echo "install: $root has nothing of Stoa any more; data in /var/lib/stoa stays"
elif [ -z "${DESTDIR:-}" ]; then
	echo "install: $(du -h "$root/bin/stoa" | cut -f1) in $root/bin/stoa; as a service of this machine:"
	echo "  systemd-sysusers && systemctl daemon-reload && systemctl enable --now stoa"
fi
