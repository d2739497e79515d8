package contract

import (
	"fmt"
	"iter"
	"strings"
)

// Names yields the physical names that the bucket of an alias may have, without end: first
// svc_SERVICE_ALIAS, then the same with _2, _3 and so on, of which it gets the first that no
// other pair has. Each is of lower-case letters, digits and _.
func Names(service, alias string) iter.Seq[string] {
	return func(yield func(string) bool) {
		first := "svc_" + plain(service) + "_" + plain(alias)
		n := 1
		for name := first; yield(name); name = fmt.Sprintf("%s_%d", first, n) {
			n++
		}
	}
}

// plain is a name in lower case, with _ for every character that is no letter of ASCII and
// no digit.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, name)
}
