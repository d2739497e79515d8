package limit

import (
	"bytes"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stoadb/stoa/kv"
)

// Name is what is limited: one user at one endpoint.
type Name struct {
	Endpoint string // as tasks:create
	User     string
}

// Rule is how often something may be done.
type Rule struct {
	Max    int           // within any window, 1 to MaxMax
	Window time.Duration // in ms, rounded up, at most MaxWindow; 0: a minute
}

// PlainWindow is the window of a rule that says none.
const PlainWindow = time.Minute

// separator stands between endpoint and user in the key of a record: neither has one.
const separator = 0

func (n *Name) key() []byte {
	key := make([]byte, 0, len(n.Endpoint)+1+len(n.User))
	return append(append(append(key, n.Endpoint...), separator), n.User...)
}

// nameOf is the name of a record's key; false if it is none of a limit.
func nameOf(key []byte) (Name, bool) {
	endpoint, user, ok := bytes.Cut(key, []byte{separator})
	n := Name{string(endpoint), string(user)}
	return n, ok && n.check() == nil
}

func (n *Name) check() error {
	if err := checkText("endpoint", n.Endpoint, MaxEndpoint); err != nil {
		return err
	}
	return checkText("user", n.User, MaxUser)
}

// checkText refuses what can't be shown in a literal key: in those, braces are left out.
func checkText(field, text string, most int) error {
	if text == "" || len(text) > most {
		e := invalid(field, "it has %d bytes; it has 1 to %d", len(text), most)
		e.Limit, e.Have = uint64(most), uint64(len(text))
		return e
	}
	if !utf8.ValidString(text) {
		return invalid(field, "it is no UTF-8")
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r == '{' || r == '}' || unicode.IsControl(r) }) {
		return invalid(field, "it has a brace or a control character, which literal keys can't show")
	}
	return nil
}

// counted is the rule as it is counted by, or what is wrong with it.
func (r Rule) counted() (rule, error) {
	if r.Window == 0 {
		r.Window = PlainWindow
	}
	if r.Max < 1 || r.Max > MaxMax {
		e := invalid("max", "a limit lets 1 to %d pass within its window", MaxMax)
		e.Limit = MaxMax
		return rule{}, e
	}
	if r.Window < 0 || r.Window > MaxWindow {
		return rule{}, invalid("window", "a window is 1 ms to %s", MaxWindow)
	}
	return rule{uint32(r.Max), uint64((r.Window + time.Millisecond - 1) / time.Millisecond)}, nil
}

// keyPrefix is what all literal keys of limits begin with.
const keyPrefix = "ade:ratelimit:"

// Key is the literal key of a limit.
func (n Name) Key() string { return keyPrefix + n.Endpoint + ":" + n.User }

// readings yields the names that a literal key can be of, those first whose user has no
// colon: an endpoint has some more often. Braces are left out.
func readings(key string, yield func(Name) bool) bool {
	rest, ok := strings.CutPrefix(kv.Untagged(key), keyPrefix)
	for at := strings.LastIndexByte(rest, ':'); ok && at > 0; at = strings.LastIndexByte(rest[:at], ':') {
		n := Name{rest[:at], rest[at+1:]}
		if n.check() == nil && !yield(n) {
			break
		}
	}
	return ok
}
