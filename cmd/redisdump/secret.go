package redisdump

import (
	"strings"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/session"
)

// The keys of sessions, whose ids are secrets.
const (
	sessionPrefix      = "ade:session:"
	sessionIndexPrefix = sessionPrefix + "index:"
)

// plain is a key as the second version spells it: with ade: in front, and without braces.
func plain(name string) string {
	key := kv.Untagged(name)
	if !strings.HasPrefix(key, "ade:") {
		key = "ade:" + key
	}
	return key
}

// shown is a key as it is shown: that of a session has the session's handle, since who has its
// id is the user.
func shown(name string) string {
	id, ok := strings.CutPrefix(plain(name), sessionPrefix)
	if !ok || id == "" || strings.HasPrefix(plain(name), sessionIndexPrefix) {
		return name
	}
	return sessionPrefix + session.HandleOf(id)
}

// ofSessions reports whether a key has ids of sessions in its name or in what it holds.
func ofSessions(name string) bool { return strings.HasPrefix(plain(name), sessionPrefix) }
