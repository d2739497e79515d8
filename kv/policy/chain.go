package policy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stoadb/stoa/kv/document"
)

// Head is the newest end of a ledger. It is stored apart from the events, in the
// batch of each, so that an event can't be taken away from the end unseen. The
// zero Head is that of a ledger without events.
type Head struct {
	Events uint64    // that were ever appended
	Last   EventID   // the newest of them
	Hash   string    // its hash; "": there is none
	At     time.Time // its time, which that of the next is not before
}

// MarshalJSON returns the head in canonical form.
func (h Head) MarshalJSON() ([]byte, error) {
	return h.text(), nil
}

// text is what MarshalJSON returns.
func (h Head) text() []byte {
	text := append(append(make([]byte, 0, 192), `{"at":"`...), document.FormatInstant(h.At)...)
	text = strconv.AppendUint(append(text, `","events":`...), h.Events, 10)
	text = append(append(text, `,"hash":"`...), h.Hash...)
	return append(h.Last.append(append(text, `","last":"`...)), `"}`...)
}

// errHead is returned for what is stored as a head and is none.
var errHead = errors.New("policy: the head of the ledger can't be read")

// ParseHead reads what MarshalJSON returns; nil is the head of a ledger without events.
func ParseHead(text []byte) (h Head, err error) {
	if text == nil {
		return h, nil
	}
	// It is parsed with each event, while other writes wait: by its one form.
	left, whole := string(text), true
	field := func(before string, end byte) (value string) {
		rest, ok := strings.CutPrefix(left, before)
		at := strings.IndexByte(rest, end)
		if !ok || at < 0 {
			whole = false
			return ""
		}
		value, left = rest[:at], rest[at:]
		return value
	}
	at, events, hash, last := field(`{"at":"`, '"'), field(`","events":`, ','), field(`,"hash":"`, '"'), field(`","last":"`, '"')
	if !whole || left != `"}` || !isHash(hash) {
		return Head{}, errHead
	}
	var known bool
	if h.Last, known = ParseEventID(last); !known {
		return Head{}, errHead
	}
	if h.Events, err = strconv.ParseUint(events, 10, 64); err != nil {
		return Head{}, errHead
	}
	if h.At, err = document.ParseInstant(at); err != nil {
		return Head{}, errHead
	}
	h.Hash = hash
	return h, nil
}

// previous is the hash that the next event names.
func (h Head) previous() string {
	if h.Hash == "" {
		return noHash
	}
	return h.Hash
}

// time is when the next event is appended: the ledger's time does not go back.
func (h Head) time(now time.Time) time.Time {
	if now = now.Truncate(time.Millisecond); now.Before(h.At) {
		return h.At
	}
	return now
}

// next is the id of the next event, if it is appended at a time that is not before that of
// the head.
func (h Head) next(at time.Time) EventID {
	id := EventID{at.Format(dayLayout), 1}
	if id.Day == h.Last.Day {
		id.Number = h.Last.Number + 1
	}
	return id
}

// Finding is something that is wrong with a ledger.
type Finding struct {
	Event   string `json:"event"`   // the event that was changed, or is missing
	Problem string `json:"problem"` // what is wrong with it
}

// String says both.
func (f Finding) String() string { return f.Event + ": " + f.Problem }

// Chain verifies the events of a ledger, which it is told one after the other in
// the order of their ids; it holds none of them in memory. The zero Chain has been
// told none.
type Chain struct {
	events  uint64
	last    EventID
	counted string    // the hash of the last event
	at      time.Time // the latest so far
	blamed  bool      // the last event has a finding
	faulty  bool      // there was a finding
}

// Next tells the chain the next event: the id under which it is stored, and what
// is stored. It returns what is wrong there, with it or with what is before it.
func (c *Chain) Next(id EventID, event []byte) []Finding {
	before := *c
	*c = Chain{events: c.events + 1, last: id, at: c.at, faulty: c.faulty}
	found := before.gap(id)
	whole := len(found) == 0
	own, previous := c.read(id, event)
	if c.blamed = own != ""; c.blamed {
		found = append(found, Finding{id.String(), own})
	} else if whole && !before.names(previous) {
		name := before.last
		problem := "it was replaced, or events behind it are missing: the next one names another hash"
		if name == (EventID{}) {
			name, problem = id, "events before it are missing: it names the hash of one"
		}
		found = append(found, Finding{name.String(), problem})
	}
	c.faulty = c.faulty || len(found) > 0
	return found
}

// gap finds that the ids leave out events before id.
func (c *Chain) gap(id EventID) []Finding {
	missing := EventID{id.Day, 1}
	switch {
	case id.follows(c.last):
		return nil
	case id.Day == c.last.Day:
		missing.Number = c.last.Number + 1
	}
	return []Finding{{missing.String(), "it is missing, and what there was between it and " + id.String()}}
}

// read looks at an event by itself, and returns what is wrong with it and the hash
// that it names.
func (c *Chain) read(id EventID, event []byte) (problem, previous string) {
	p, values, err := cutEvent(event)
	if err != nil {
		return "it is no event: " + err.Error(), ""
	}
	var texts [len(placed)]string
	for n, value := range values {
		if value[0] != '"' {
			return "it is no event: " + placed[n] + " is no text", ""
		}
		texts[n] = string(value[1 : len(value)-1])
	}
	c.counted, previous = p.hash(values), texts[2]
	at, err := document.ParseInstant(texts[3])
	switch {
	case texts[1] != c.counted:
		return "it was changed: its hash is not that of what it says", previous
	case texts[0] != id.String():
		return "it says that it is " + texts[0], previous
	case err != nil || at.Format(dayLayout) != id.Day:
		return "its time is not of its day", previous
	case at.Before(c.at):
		return "its time is before that of the event before it", previous
	}
	c.at = at
	return "", previous
}

// names reports whether a hash is what the event behind has to name.
func (c *Chain) names(previous string) bool {
	if c.last == (EventID{}) {
		return previous == noHash
	}
	return c.blamed || previous == c.counted
}

// End tells the chain that there are no more events, and the head that is stored.
// It returns what is wrong with the end of the ledger.
func (c *Chain) End(head Head) []Finding {
	last, problem := c.last, ""
	switch order := head.Last.Compare(last); {
	case head.Last == EventID{} && last != EventID{}:
		problem = "the head of the ledger is missing"
	case order > 0:
		last, problem = head.Last, "it is missing, and is the head of the ledger"
	case order < 0:
		problem = "it is behind the head of the ledger, which is " + head.Last.String()
	case last == EventID{} || c.blamed:
	case head.Hash != c.counted:
		problem = "it was replaced: the head of the ledger has another hash"
	case !head.At.Equal(c.at) && !c.faulty:
		problem = "the head of the ledger has another time"
	case head.Events != c.events && !c.faulty:
		problem = fmt.Sprintf("the head of the ledger counts %d events; there are %d", head.Events, c.events)
	}
	if problem == "" {
		return nil
	}
	return []Finding{{last.String(), problem}}
}
