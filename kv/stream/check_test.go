package stream

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// stored is a row as it is stored.
type stored struct {
	kv.Row
	value []byte
}

// rows are those of streams in which there is one of each kind.
func rows(t *testing.T) (list []stored) {
	h := newHost(t)
	h.create(kv.StreamLimits{Age: time.Hour})
	h.add("a", "b", "c", "d")
	h.fetch(h.consumer(Config{Name: "gone"}), 1)
	_, err := h.DeleteConsumer(ctx, engine.WAL, "s", "gone")
	require.NoError(t, err)
	c := h.consumer(Config{Name: "c", Filter: "*"})
	got := h.fetch(c, 3)
	require.NoError(t, c.Terminate(ctx, engine.WAL, got[0].Ref(), "no"))
	_, err = c.Nak(ctx, engine.WAL, got[1].Ref(), time.Minute, "")
	require.NoError(t, err)
	scope := h.space.Scope()
	it, err := h.db.Iterate(column.Generic, engine.Prefixed(scope[:]))
	require.NoError(t, err)
	defer func() { require.NoError(t, it.Close()) }()
	for it.Next() {
		row, err := kv.ParseRow(bytes.Clone(it.Key()))
		require.NoError(t, err)
		list = append(list, stored{row, bytes.Clone(it.Value())})
	}
	require.NoError(t, it.Err())
	return list
}

func check(list []stored) (found []string) {
	var c Check
	for _, r := range list {
		if fault := c.Row(r.Row, r.value); fault != "" {
			found = append(found, fault)
		}
	}
	if fault := c.End(); fault != "" {
		found = append(found, fault)
	}
	return found
}

// Whatever row says what this package does not write, the check finds it.
func TestTheCheckFindsWhatIsNotWrittenSo(t *testing.T) {
	whole := rows(t)
	require.Empty(t, check(whole))
	header := 0 // of a record, before its value
	for _, r := range whole {
		if record, _, err := kv.RecordOf(r.Row, r.value); err == nil && r.Shape == kv.ShapeRecord {
			header = len(r.value) - len(record.Value)
		}
	}
	set := func(at int, b byte) func(*stored) { return func(r *stored) { r.value[at] = b } }
	more := func(at int) func(*stored) {
		return func(r *stored) {
			binary.LittleEndian.PutUint64(r.value[at:], binary.LittleEndian.Uint64(r.value[at:])+1)
		}
	}
	named := func(name string) func(*stored) { return func(r *stored) { r.Key = []byte(name) } }
	for name, tc := range map[string]struct {
		shape  kv.Shape
		key    string // what its key begins with
		number uint64
		damage func(*stored) // nil: it is gone
		says   string
	}{
		"an entry of no version":           {kv.ShapeEntry, "", 2, set(8, 2), "not of version 1"},
		"an entry of no subject":           {kv.ShapeEntry, "", 2, set(11, ' '), "a key has no"},
		"an entry that is cut short":       {kv.ShapeEntry, "", 2, set(9, 200), "cut short"},
		"a head of another name":           {kv.ShapeHead, "s", 0, named("s s"), "no stream is called so"},
		"a head of a set":                  {kv.ShapeHead, "s", 0, func(r *stored) { r.Kind = kv.KindSet }, "no stream is called so"},
		"no head":                          {kv.ShapeHead, "s", 0, nil, `stream "s" lacks`},
		"no stream":                        {kv.ShapeRecord, "stream/", 0, nil, `stream "s" lacks`},
		"a stream of no version":           {kv.ShapeRecord, "stream/", 0, func(r *stored) { r.value[header] = 2 }, "version 1"},
		"a stream with more":               {kv.ShapeRecord, "stream/", 0, func(r *stored) { r.value = append(r.value, 1) }, "version 1"},
		"a record of another name":         {kv.ShapeRecord, "stream/", 0, named("streams/s"), "is no stream"},
		"a stream of no name":              {kv.ShapeRecord, "stream/", 0, named("stream/"), "is no stream"},
		"a consumer of another wait":       {kv.ShapeRecord, "consumer/", 0, func(r *stored) { clear(r.value[header+18 : header+26]) }, "what it says is none"},
		"a consumer of no filter":          {kv.ShapeRecord, "consumer/", 0, func(r *stored) { r.value[len(r.value)-1] = ' ' }, "what it says is none"},
		"a consumer of no version":         {kv.ShapeRecord, "consumer/", 0, func(r *stored) { r.value[header] = 9 }, "version 1"},
		"a consumer of no stream":          {kv.ShapeRecord, "consumer/", 0, named("consumer/t/c"), "lacks its group"},
		"no consumer":                      {kv.ShapeRecord, "consumer/", 0, nil, "consumer/s/c lacks"},
		"no group":                         {kv.ShapeGroup, "c", 0, nil, "consumer/s/c lacks"},
		"a group of another name":          {kv.ShapeGroup, "c", 0, named("c c"), "no consumer of a stream is called so"},
		"no state":                         {kv.ShapeKept, "consumer/", 0, nil, "consumer/s/c lacks"},
		"a state of no version":            {kv.ShapeKept, "consumer/", 0, set(0, 2), "not the state"},
		"a state with no token before it":  {kv.ShapeKept, "consumer/", 0, func(r *stored) { clear(r.value[17:]) }, "not the state"},
		"a state of nobody":                {kv.ShapeKept, "consumer/", 0, named("dead/s/c/00000000000000000001"), "which is no consumer"},
		"a state with more dead letters":   {kv.ShapeKept, "consumer/", 0, more(9), "counts 2 dead letters, there are 1"},
		"a state with fewer deliveries":    {kv.ShapeKept, "consumer/", 0, func(r *stored) { clear(r.value[1:9]) }, "has token 4, and the last of the consumer is 1"},
		"a last token of no version":       {kv.ShapeKept, "tokens", 0, set(0, 2), "not the last token"},
		"a last token cut short":           {kv.ShapeKept, "tokens", 0, func(r *stored) { r.value = r.value[:8] }, "not the last token"},
		"pending with nobody":              {kv.ShapePending, "", 3, func(r *stored) { r.value = append(r.value, 'x') }, "who can have it"},
		"pending with a number with a 0":   {kv.ShapePending, "", 3, func(r *stored) { r.value = append(r.value[:12:12], "03"...) }, "who can have it"},
		"pending and never delivered":      {kv.ShapePending, "", 3, func(r *stored) { clear(r.value[8:12]) }, "who can have it"},
		"a dead letter is gone":            {kv.ShapeRecord, "dead/", 0, nil, "counts 1 dead letters, there are 0"},
		"a dead letter of no version":      {kv.ShapeRecord, "dead/", 0, func(r *stored) { r.value[header] = 2 }, "version 1"},
		"a dead letter of no number":       {kv.ShapeRecord, "dead/", 0, named("dead/s/c/1"), "is no stream"},
		"a dead letter of no time":         {kv.ShapeRecord, "dead/", 0, func(r *stored) { clear(r.value[header+1 : header+9]) }, "what it says is none"},
		"a dead letter of no entry's time": {kv.ShapeRecord, "dead/", 0, func(r *stored) { clear(r.value[header+17 : header+25]) }, "an entry of no time"},
		"a dead letter of no entry":        {kv.ShapeRecord, "dead/", 0, func(r *stored) { r.value[header+25] = 2 }, "not of version 1"},
		"a score":                          {kv.ShapeHead, "s", 0, func(r *stored) { r.Shape = kv.ShapeScore }, "streams have none"},
	} {
		list := slices.Clone(whole)
		at := slices.IndexFunc(list, func(r stored) bool {
			return r.Shape == tc.shape && bytes.HasPrefix(r.Key, []byte(tc.key)) && (tc.number == 0 || r.Number == tc.number)
		})
		require.GreaterOrEqual(t, at, 0, name)
		if tc.damage == nil {
			list = slices.Delete(list, at, at+1)
		} else {
			list[at].value = bytes.Clone(list[at].value)
			tc.damage(&list[at])
		}
		require.Contains(t, slices.Concat(check(list), []string{"nothing"})[0], tc.says, name)
	}
}

// What is stored is read back as it was, and nothing else is read.
func TestWhatIsStoredIsReadBack(t *testing.T) {
	config := Config{"c", Start{DeliverFrom, 7}, "a.*", time.Minute, 3, 9}
	back, created, err := parseConfig("c", config.append(nil, 12))
	require.NoError(t, err)
	require.Equal(t, config, back)
	require.EqualValues(t, 12, created)
	for _, l := range []DeadLetter{
		{Entry{9, moment(5), Message{"a.b", []byte("payload")}}, false, moment(7), 3, "why"},
		{Entry{9, moment(5), Message{"a", []byte{}}}, false, moment(7), 1, ""},
		{Entry{Number: 9}, true, moment(7), 3, "why"},
	} {
		src := l.append(nil)
		back, err := parseDead(9, src)
		require.NoError(t, err)
		require.Equal(t, l, back)
		for n := range len(src) - len(l.Payload) {
			if cut, err := parseDead(9, src[:n]); err == nil {
				require.Equal(t, src[:n], cut.append(nil))
			} else {
				require.ErrorIs(t, err, engine.ErrCorrupt)
			}
		}
	}
}

func FuzzStored(f *testing.F) {
	c := Config{"c", Start{}, "a.*", time.Minute, 3, 9}
	f.Add(c.append(nil, 12))
	f.Add((&Message{"a", []byte("b")}).append(nil))
	f.Add((&DeadLetter{Entry{9, moment(5), Message{"a.b", nil}}, false, moment(7), 3, "why"}).append(nil))
	f.Add(state{1, 2, 0}.bytes())
	f.Add(state{1, 2, 3}.bytes())
	f.Fuzz(func(t *testing.T, src []byte) {
		if m, err := parseMessage(src); err == nil && !bytes.Equal(m.append(nil), src) {
			t.Fatalf("a message comes back as %x", m.append(nil))
		}
		if c, created, err := parseConfig("c", src); err == nil && !bytes.Equal(c.append(nil, created), src) {
			t.Fatalf("a consumer comes back as %x", c.append(nil, created))
		}
		if l, err := parseDead(1, src); err == nil && !bytes.Equal(l.append(nil), src) {
			t.Fatalf("a dead letter comes back as %x", l.append(nil))
		}
		if s, err := parseState(src); err == nil && !bytes.Equal(s.bytes(), src) {
			t.Fatalf("a state comes back as %x", s.bytes())
		}
	})
}
