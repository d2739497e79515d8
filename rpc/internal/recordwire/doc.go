// Package recordwire turns what package record has into messages of the Record service
// and back, for both ends.
package recordwire

import (
	"encoding/json"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

var (
	_ = op.Pair(fromDoc, doc)
	_ = op.Pair(fromEvent, event)
)

// fromDoc returns a record at a revision, whose bytes are shared.
func fromDoc(d *record.Doc) *stoav1.RecordDoc {
	return &stoav1.RecordDoc{Id: d.ID, Revision: d.Revision, Ordinal: d.Ordinal, Json: d.JSON, WrittenMs: op.Millis(d.Written), ExpiresMs: op.Millis(d.Expires)}
}

// doc returns a record at a revision.
func doc(field string, m *stoav1.RecordDoc) (d record.Doc, err error) {
	if m == nil {
		return d, &op.FieldError{Field: field, Reason: "it does not say what the record is"}
	}
	d = record.Doc{ID: m.GetId(), Revision: m.GetRevision(), Ordinal: m.GetOrdinal(), Written: op.Time(m.GetWrittenMs()), Expires: op.Time(m.GetExpiresMs())}
	if len(m.GetJson()) > 0 {
		d.JSON = json.RawMessage(m.GetJson())
	}
	return d, nil
}

// about reports whether an event is about a record.
func about(k kv.EventKind) bool {
	return k == kv.EventPut || k == kv.EventDelete || k == kv.EventExpire
}

// fromEvent returns what a watcher is told.
func fromEvent(e *record.Event) *stoav1.RecordEvent {
	m := &stoav1.RecordEvent{Kind: stoav1.KvEventKind(e.Kind), Revision: e.Revision}
	if about(e.Kind) {
		m.Doc = fromDoc(&e.Doc)
	}
	return m
}

// event returns what a watcher is told.
func event(field string, m *stoav1.RecordEvent) (e record.Event, err error) {
	e = record.Event{Kind: kv.EventKind(m.GetKind()), Revision: m.GetRevision()}
	if about(e.Kind) {
		e.Doc, err = doc(field+".doc", m.GetDoc())
	}
	return e, err
}
