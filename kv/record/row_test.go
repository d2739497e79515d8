package record

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
)

// What no write would have left is refused, with its field.
func TestADocumentThatNoWriteWouldHaveLeftIsFound(t *testing.T) {
	h := newHost(t)
	d := h.create("task", aTask.with(object{"due": "2026-03-04T00:00:00Z"}))
	c, err := h.Collection("task")
	require.NoError(t, err)
	require.NoError(t, c.Verify(d))
	set := func(field, value string) func(*Doc) {
		return func(d *Doc) { d.JSON = document.With(d.JSON, document.ParsePath(field), json.RawMessage(value)) }
	}
	for field, cases := range map[string][]func(*Doc){
		"doc": {
			func(d *Doc) { d.JSON = append(bytes.Clone(d.JSON), ' ') },
			func(d *Doc) { d.JSON = d.JSON[:9] },
			func(d *Doc) { d.JSON = json.RawMessage(`[]`) },
			func(d *Doc) { d.Ordinal = 0 },
			func(d *Doc) { d.Ordinal = d.Revision + 1 },
			set("due", `"2026-03-04T02:00:00+02:00"`),
		},
		"task_id":        {func(d *Doc) { d.ID = "tsk-20260301-zzzzzz" }, set("task_id", `7`)},
		"status":         {set("status", `"gone"`)},
		"blocked_reason": {set("status", `"blocked"`)},
		"priority":       {set("priority", `10`)},
		"owner":          {set("owner", `"by_owner:x"`)},
	} {
		for i, change := range cases {
			changed := d
			change(&changed)
			err := c.Verify(changed)
			require.Error(t, err, "%s %d", field, i)
			require.Equal(t, field, err.(*Error).Field, "%d: %v", i, err)
		}
	}
	odd, err := Parse([]byte(`{"name":"odd","id":{"field":"id","kind":"given"},"schema":{"type":"object"},
		"states":{"field":"s","initial":"a","transitions":{"a":["b"]},"in":{"c":{}}},"keys":[{"pattern":"odd:{by}:{id}"}]}`))
	require.NoError(t, err)
	for doc, field := range map[string]string{
		`{"by":"x","id":"i","s":"a"}`: "", `{"by":"x","id":"i","s":"b"}`: "", `{"by":"x","id":"i","s":"c"}`: "",
		`{"by":"x","id":"i","s":"d"}`: "s", `{"by":"","id":"i","s":"a"}`: "by, id", `{"id":"i","s":"a"}`: "by, id",
	} {
		err := odd.Verify(Doc{ID: "i", Revision: 1, Ordinal: 1, JSON: json.RawMessage(doc)})
		if field == "" {
			require.NoError(t, err, doc)
			continue
		}
		require.ErrorIs(t, err, ErrValidation, doc)
		require.Equal(t, field, err.(*Error).Field, doc)
	}
	prepared := parse(t, workerJSON)
	prepared.Prepare = func(doc json.RawMessage) (json.RawMessage, error) {
		return document.With(doc, document.Path{"age"}, json.RawMessage("1")), nil
	}
	worker := Doc{ID: "w", Revision: 1, Ordinal: 1, JSON: json.RawMessage(`{"worker_id":"w"}`)}
	require.ErrorIs(t, prepared.Verify(worker), ErrValidation, "a write would have prepared it")
	prepared.AppendOnly = true
	require.NoError(t, prepared.Verify(worker), "what is only appended is prepared when it is new")
}

// Rows are what the README says, or none of a collection.
func TestRowsOfASpaceAreRead(t *testing.T) {
	h := newHost(t)
	c, err := h.Collection("entry")
	require.NoError(t, err)
	value := func(content string) []byte {
		r := bytes.Repeat([]byte{0}, 34)
		r[0], r[2], r[10], r[18] = byte(kv.Put), 9, 9, 1
		return append(r, content...)
	}
	read := func(key, content string) (Row, error) {
		return c.ParseRow(kv.Row{Scope: keys.NewKVScope(2, 1, 1), Shape: kv.ShapeRecord, Key: []byte(key)}, value(content))
	}
	row, err := read("ent-20260301-\x06000001", "\x00\x00\x00\x00\x00\x00\x00\x09{}")
	require.NoError(t, err)
	require.Equal(t, Row{Kind: RowRecord, Name: "ent-20260301-000001", Doc: Doc{ID: "ent-20260301-000001", Revision: 9, Ordinal: 9, JSON: json.RawMessage("{}"), Written: row.Doc.Written}}, row)
	kept := func(name, content string) (Row, error) {
		return c.ParseRow(kv.Row{Scope: keys.NewKVScope(2, 1, 1), Shape: kv.ShapeKept, Key: []byte(name)}, []byte(content))
	}
	row, err = kept("counter:20260301", "\x00\x00\x00\x00\x00\x00\x01\x02")
	require.NoError(t, err)
	require.Equal(t, Row{Kind: RowCounter, Name: "20260301", Count: 258}, row)
	row, err = kept("kept:head", "x")
	require.NoError(t, err)
	require.Equal(t, Row{Kind: RowKept, Name: "head", Kept: []byte("x")}, row)
	for key, content := range map[string]string{
		"ent-20260301-\x06000001": "\x00\x00\x00\x00\x00\x00\x00\x09", // no document
		"ent-20260301-000001":     "\x00\x00\x00\x00\x00\x00\x00\x09{}",
		"ent-20260301-\x07000001": "\x00\x00\x00\x00\x00\x00\x00\x09{}",
		"x":                       "\x00\x00\x00\x00\x00\x00\x00\x09{}",
	} {
		_, err := read(key, content)
		require.ErrorIs(t, err, engine.ErrCorrupt, "%q", key)
	}
	for name, content := range map[string]string{
		"other":            "x",
		"counter:2026030":  "\x00\x00\x00\x00\x00\x00\x01\x02",
		"counter:20260231": "\x00\x00\x00\x00\x00\x00\x01\x02",
		"counter:20260301": "\x00\x00\x00\x00\x00\x00\x01",
	} {
		_, err := kept(name, content)
		require.ErrorIs(t, err, engine.ErrCorrupt, "%q", name)
	}
	row, err = c.ParseRow(kv.Row{Shape: kv.ShapeIndex}, nil)
	require.NoError(t, err)
	require.Zero(t, row, "it only follows from others")
	c.Placer = func(json.RawMessage) (Placer, error) { return nil, nil }
	_, err = kept("counter:20260301", "\x00\x00\x00\x00\x00\x00\x01\x02")
	require.ErrorIs(t, err, engine.ErrCorrupt, "it counts its records itself")
	require.Equal(t, "by_day", c.IndexName(1))
	require.Equal(t, "all", c.IndexName(0))
}

// A record that lost its document has no place in the order of all.
func TestARecordWithoutADocumentHasNoTerms(t *testing.T) {
	require.Nil(t, allTerms(nil, nil))
	require.Nil(t, allTerms(nil, make([]byte, ordinalBytes)))
	require.Len(t, allTerms(nil, append(make([]byte, ordinalBytes), '{')), 1)
}
