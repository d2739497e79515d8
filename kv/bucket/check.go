package bucket

import (
	"strings"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket/subject"
)

// Fault says what is wrong with a record of a bucket, or of the registry, that the package does
// not write so; "": nothing. What the registry has is told from keys by a colon, which no key
// has.
func Fault(r *kv.Record) string {
	key := string(r.Key)
	var err error
	switch {
	case strings.HasPrefix(key, bucketWord):
		_, err = parseInfo(r.Key, r.Value)
	case strings.HasPrefix(key, goneWord):
		_, err = parseGone(r)
	case strings.HasPrefix(key, contractWord):
		_, err = parseAuthority(r.Key, r.Value)
	case r.Form != 0 && r.Form != formOwnTTL && r.Form != formDelete && r.Form != formPurge:
		return "there is no such form of a revision"
	case isMarker(r.Form) && len(r.Value) > 0:
		return "a marker has no value"
	default:
		err = subject.Check(key)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
