package event

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
)

// Event is what is told of a change.
type Event struct {
	Name    string          // as task:state_changed; 1 to MaxName bytes
	Payload json.RawMessage // a JSON value of at most MaxPayload bytes; nil: null
	Source  string          // who tells it: a service or an agent; at most MaxSource bytes
}

// Entry is an event in its stream.
type Entry struct {
	ID ID
	Event
}

// MarshalJSON is the entry as it is shown.
func (e Entry) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID        ID              `json:"id"`
		Event     string          `json:"event"`
		Timestamp string          `json:"timestamp"`
		Payload   json.RawMessage `json:"payload"`
		Source    string          `json:"source"`
	}{e.ID, e.Name, document.FormatInstant(e.ID.Time()), e.Payload, e.Source})
}

// check returns what is wrong with an event.
func (e *Event) check() error {
	if e.Name == "" {
		return invalid("event", "an event has a name, as task:state_changed")
	}
	if len(e.Payload) > MaxPayload {
		return tooLarge("payload", len(e.Payload), MaxPayload)
	}
	if len(e.Payload) > 0 && !json.Valid(e.Payload) {
		return invalid("payload", "the payload is no JSON")
	}
	if err := checkText("event", e.Name, MaxName); err != nil {
		return err
	}
	return checkText("source", e.Source, MaxSource)
}

func checkText(field, text string, limit int) error {
	if len(text) > limit {
		return tooLarge(field, len(text), limit)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return invalid(field, "it is no UTF-8, or has a control character")
	}
	return nil
}

// checkName is checkText of what can't be empty.
func checkName(field, text string) error {
	if text == "" {
		return invalid(field, "the %s is missing: 1 to %d bytes", field, MaxName)
	}
	return checkText(field, text, MaxName)
}

func checkStream(stream string) error {
	if !slices.Contains(Streams(), stream) {
		return invalid("stream", "there is no such stream: %s", strings.Join(Streams(), ", "))
	}
	return nil
}

// version is the first byte of an entry, of which README.md has the others.
const version = 1

// append appends the bytes of an event.
func (e *Event) append(dst []byte) []byte {
	dst = appendText(append(dst, version), e.Name)
	dst = appendText(dst, e.Source)
	if len(e.Payload) == 0 {
		return append(dst, "null"...)
	}
	return append(dst, e.Payload...)
}

func appendText(dst []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint16(dst, uint16(len(text))), text...)
}

// parseEvent returns the event of some bytes, of which its payload is a part, or
// engine.ErrCorrupt.
func parseEvent(src []byte) (e Event, err error) {
	if len(src) == 0 || src[0] != version {
		return e, damaged("not of version %d", version)
	}
	src = src[1:]
	for _, text := range []*string{&e.Name, &e.Source} {
		if len(src) < 2 || len(src)-2 < int(binary.LittleEndian.Uint16(src)) {
			return e, damaged("cut short")
		}
		n := 2 + int(binary.LittleEndian.Uint16(src))
		*text, src = string(src[2:n]), src[n:]
	}
	e.Payload = src
	if len(src) == 0 {
		return e, damaged("no payload")
	}
	if err := e.check(); err != nil {
		return e, damaged("%s", err)
	}
	return e, nil
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("event: %w: an entry: %s", engine.ErrCorrupt, fmt.Sprintf(format, args...))
}

func entryOf(e kv.Entry) (Entry, error) {
	event, err := parseEvent(e.Payload)
	return Entry{idOf(e), event}, err
}

func entriesOf(list []kv.Entry) ([]Entry, error) {
	entries := make([]Entry, len(list))
	for i, e := range list {
		var err error
		if entries[i], err = entryOf(e); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

func idOf(e kv.Entry) ID { return ID{uint64(e.Time.UnixMilli()), e.Number} }
