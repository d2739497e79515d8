package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/document"
)

// told is an event as it is stored.
type told struct {
	id   EventID
	text []byte
}

// appended is an event behind a head, as a ledger makes it.
func appended(t *testing.T, head Head, text string, now time.Time) (told, Head) {
	canonical, err := document.Canonical([]byte(text))
	require.NoError(t, err)
	event, err := prepareEvent(canonical)
	require.NoError(t, err)
	p, _, err := cutEvent(document.Over(event, json.RawMessage(`{"event_id":"","timestamp":""}`)))
	require.NoError(t, err)
	event, id, next := p.behind(head, now)
	return told{id, event}, next
}

// someLedger is a ledger of n events over two days, and its head.
func someLedger(t *testing.T, n int) (events []told, head Head) {
	at := time.Date(2025, 11, 30, 23, 59, 59, 0, time.UTC)
	for i := range n {
		var event told
		event, head = appended(t, head, fmt.Sprintf(`{"tool":"gmail","action":"send","agent_id":"a","intent_id":"int-20251130-abcdef","zoned":{"é":[1,%d]},"inputs":{"n":%d},"policy_decision":{"result":"allowed"}}`, i, i), at.Add(time.Duration(i)*300*time.Millisecond))
		events = append(events, event)
	}
	return events, head
}

func verify(events []told, head Head) (found []Finding) {
	var c Chain
	for _, e := range events {
		found = append(found, c.Next(e.id, e.text)...)
	}
	return append(found, c.End(head)...)
}

// An event is stored in canonical form, with its own hash and that of the one before.
func TestAnEventIsCanonicalAndNamesTheOneBefore(t *testing.T) {
	events, head := someLedger(t, 8)
	require.Empty(t, verify(events, head))
	previous := noHash
	for i, e := range events {
		canonical, err := document.Canonical(e.text)
		require.NoError(t, err)
		require.Equal(t, string(canonical), string(e.text))
		var fields map[string]any
		require.NoError(t, json.Unmarshal(e.text, &fields))
		require.Equal(t, e.id.String(), fields["event_id"])
		require.Equal(t, previous, fields["previous_hash"])
		require.NotContains(t, fields, "inputs")
		previous = fields["hash"].(string)
		delete(fields, "hash")
		rest, err := json.Marshal(fields)
		require.NoError(t, err)
		own, err := HashJSON(rest)
		require.NoError(t, err)
		require.Equal(t, own, previous, "event %d", i)
	}
	require.Equal(t, previous, head.Hash)
	require.Equal(t, "evt-20251201-000004", head.Last.String())
	require.Equal(t, uint64(8), head.Events)
	text, err := json.Marshal(head)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf(`{"at":"2025-12-01T00:00:01.1Z","events":8,"hash":"%s","last":"evt-20251201-000004"}`, previous), string(text))
	back, err := ParseHead(text)
	require.NoError(t, err)
	require.Equal(t, head, back)
	for at := range text {
		damaged := bytes.Clone(text)
		damaged[at] ^= 0x80
		_, err := ParseHead(damaged)
		require.Error(t, err, "byte %d", at)
		_, err = ParseHead(text[:at])
		require.Error(t, err, "%d bytes", at)
	}
}

// Whichever byte of whichever event is flipped, that event is the first finding, and
// the only one.
func TestB46EveryChangedByteNamesItsEvent(t *testing.T) {
	events, head := someLedger(t, 7)
	for i := range events {
		whole := events[i].text
		for at := range whole {
			for _, mask := range []byte{1, 0x20, 0x80} {
				events[i].text = bytes.Clone(whole)
				events[i].text[at] ^= mask
				found := verify(events, head)
				require.Len(t, found, 1, "event %d, byte %d", i, at)
				require.Equal(t, events[i].id.String(), found[0].Event, "byte %d", at)
			}
		}
		events[i].text = whole
	}
}

// An event that is taken away is named, wherever it stood; one taken from the end of a
// day, which leaves no gap in the ids, by the one before it.
func TestB46AMissingEventIsFound(t *testing.T) {
	events, head := someLedger(t, 8)
	for i, gone := range events {
		left := append(append([]told{}, events[:i]...), events[i+1:]...)
		found := verify(left, head)
		require.NotEmpty(t, found)
		switch {
		case i == 3:
			require.Equal(t, events[2].id.String(), found[0].Event)
		default:
			require.Equal(t, gone.id.String(), found[0].Event)
		}
		require.Len(t, found, 1, "event %d", i)
	}
	found := verify(events[:7], head)
	require.Equal(t, []Finding{{events[7].id.String(), "it is missing, and is the head of the ledger"}}, found)
	require.Len(t, verify(nil, head), 1)
	require.Len(t, verify(events, Head{}), 1, "the head itself is missing")
	require.Empty(t, verify(nil, Head{}))
	require.NotEmpty(t, verify(events[4:], head), "a day is missing at the beginning")
	require.NotEmpty(t, verify(events[:1], Head{Events: 2, Last: events[0].id, Hash: head.Hash}))
}

// Somebody who changes an event and its hash with it, or the head, is found out by
// what is next to it.
func TestB46AnEventThatIsReplacedIsFound(t *testing.T) {
	events, head := someLedger(t, 8)
	other, _ := someLedger(t, 9)
	for i := range events {
		changed := append([]told{}, events...)
		before := Head{}
		if i > 0 {
			before = Head{Last: other[i-1].id}
			var c Chain
			for _, e := range other[:i] {
				require.Empty(t, c.Next(e.id, e.text))
			}
			before.Hash, before.At = c.counted, c.at
		}
		changed[i], _ = appended(t, before, `{"tool":"other"}`, time.Date(2025, 11, 30, 23, 59, 59, 0, time.UTC).Add(time.Duration(i)*300*time.Millisecond))
		found := verify(changed, head)
		require.Len(t, found, 1, "event %d", i)
		require.Equal(t, events[i].id.String(), found[0].Event)
	}
	wrong := head
	wrong.Hash = noHash
	require.Len(t, verify(events, wrong), 1)
	wrong = head
	wrong.Events++
	require.Len(t, verify(events, wrong), 1)
	wrong = head
	wrong.At = wrong.At.Add(time.Millisecond)
	require.Len(t, verify(events, wrong), 1)
	wrong = head
	wrong.Last = events[5].id
	require.Len(t, verify(events, wrong), 1)
}

// The time of the ledger does not go back, even if that of its store does.
func TestTheLedgersTimeDoesNotGoBack(t *testing.T) {
	late := time.Date(2025, 12, 1, 0, 0, 0, 500_000_000, time.UTC)
	one, head := appended(t, Head{}, `{"tool":"t"}`, late)
	two, head := appended(t, head, `{"tool":"t"}`, late.Add(-time.Hour))
	require.Equal(t, "evt-20251201-000002", two.id.String())
	require.Contains(t, string(two.text), `"timestamp":"2025-12-01T00:00:00.5Z"`)
	require.Empty(t, verify([]told{one, two}, head))
}

func TestB39HashesOfInputs(t *testing.T) {
	for text, want := range map[string]string{
		`{"b":1,"a":2}`:  "sha256:d3626ac30a87e6f7a6428233b3c68299976865fa5508e4267c5415c76af7a772",
		`{"a":2, "b":1}`: "sha256:d3626ac30a87e6f7a6428233b3c68299976865fa5508e4267c5415c76af7a772",
		`{}`:             "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
	} {
		hash, err := HashJSON([]byte(text))
		require.NoError(t, err)
		require.Equal(t, want, hash)
		for _, name := range []string{"inputs", "outputs"} {
			canonical, err := document.Canonical([]byte(`{"` + name + `":` + text + `}`))
			require.NoError(t, err)
			event, err := prepareEvent(canonical)
			require.NoError(t, err)
			require.Equal(t, want, fieldText(t, event, name+"_hash"))
			require.Nil(t, document.Field(event, document.Path{name}))
			event, err = prepareEvent(json.RawMessage(`{"` + name + `_hash":"` + want + `"}`))
			require.NoError(t, err)
			require.Equal(t, want, fieldText(t, event, name+"_hash"), "the hash alone")
		}
	}
	event, err := prepareEvent(json.RawMessage(`{}`))
	require.NoError(t, err)
	require.Equal(t, "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", fieldText(t, event, "inputs_hash"), "without either it is that of {}")
	_, err = HashJSON([]byte(`{"a":`))
	require.Error(t, err)
}

func fieldText(t *testing.T, doc json.RawMessage, field string) string {
	s, ok := document.Text(document.Field(doc, document.Path{field}))
	require.True(t, ok)
	return s
}
