package policy_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	. "github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/policy/policytest"
	"github.com/stoadb/stoa/kv/record"
)

// damaged returns a host of two events whose store has other rows besides, or in the place
// of its own, as nothing but damage leaves it.
func damaged(t *testing.T, change func(db engine.Engine, space *kv.Space, events []record.Doc) (key, value []byte)) *policytest.Host {
	h := newHost(t)
	intent := h.Intent()
	events := []record.Doc{h.Event(intent, nil), h.Event(intent, nil)}
	space, err := h.Store.Records().Space(ctx, "t", Ledger)
	require.NoError(t, err)
	key, value := change(h.DB, space, events)
	was, err := h.DB.Get(nil, column.Generic, key)
	put := func(value []byte) {
		var b engine.Batch
		b.Delete(column.Generic, key)
		if value != nil {
			b.Put(column.Generic, key, value)
		}
		require.NoError(t, h.DB.Apply(&b))
	}
	put(value)
	t.Cleanup(func() { // before the host recounts what it has
		if err != nil {
			was = nil
		}
		put(was)
	})
	return h
}

// findings are what is wrong with the ledger, at most most.
func findings(t *testing.T, h *policytest.Host, most int) (list []Finding) {
	for f, err := range h.Store.Verify(ctx, "t") {
		require.NoError(t, err)
		if list = append(list, f); len(list) == most {
			break
		}
	}
	return list
}

// What is no event has a finding of its own, and what is behind it is verified all the same,
// unless nobody wants to know.
func TestWhatIsNoEventIsFound(t *testing.T) {
	h := damaged(t, func(db engine.Engine, space *kv.Space, events []record.Doc) (key, value []byte) {
		row := func(id string) []byte {
			return kv.Row{Scope: space.Scope(), Shape: kv.ShapeRecord, Key: []byte(id)}.AppendKey(nil)
		}
		event, err := db.Get(nil, column.Generic, row(events[0].ID[:13]+"\x06"+events[0].ID[13:]))
		require.NoError(t, err)
		return row("evs"), event
	})
	want := Finding{"evs", "it is no id of an event"}
	require.Equal(t, []Finding{want}, findings(t, h, 10))
	require.Equal(t, []Finding{want}, findings(t, h, 1))
}

func TestAHeadThatCannotBeReadIsFound(t *testing.T) {
	h := damaged(t, func(_ engine.Engine, space *kv.Space, _ []record.Doc) (key, value []byte) {
		return kv.Row{Scope: space.Scope(), Shape: kv.ShapeKept, Key: []byte("kept:" + HeadName)}.AppendKey(nil), []byte("evt")
	})
	got := findings(t, h, 10)
	require.Len(t, got, 1)
	require.Equal(t, HeadName, got[0].Event)
	_, err := h.Store.Head(ctx, "t")
	require.EqualError(t, err, got[0].Problem)
}

// Events that can't be read end what is asked, with an error that comes once.
func TestEventsThatCannotBeReadEndWhatIsAsked(t *testing.T) {
	h := damaged(t, func(_ engine.Engine, space *kv.Space, events []record.Doc) (key, value []byte) {
		id := events[0].ID
		return kv.Row{Scope: space.Scope(), Shape: kv.ShapeRecord, Key: []byte(id[:13] + "\x06" + id[13:])}.AppendKey(nil), []byte("short")
	})
	ended := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, engine.ErrCorrupt)
	}
	n := 0
	for _, err := range h.Store.Events(ctx, "t", time.Time{}, time.Time{}) {
		ended(err)
		n++
	}
	for _, err := range h.Store.Events(ctx, "t", h.KV.Now().Add(-time.Hour), time.Time{}) {
		ended(err)
		n++
	}
	for _, err := range h.Store.Verify(ctx, "t") {
		ended(err)
		n++
	}
	require.Equal(t, 3, n)
	for d, err := range h.Store.Events(ctx, "t", time.Time{}, h.KV.Now().AddDate(0, 0, -1)) {
		require.Fail(t, "what is of later days is not read", "%v, %v", d, err)
	}
}

// Who has no name has no ledger.
func TestALedgerIsOfATenant(t *testing.T) {
	h := newHost(t)
	n := 0
	for _, err := range h.Store.Verify(ctx, "") {
		require.ErrorIs(t, err, record.ErrInvalidArgument)
		n++
	}
	for _, err := range h.Store.Events(ctx, "", time.Time{}, time.Time{}) {
		require.ErrorIs(t, err, record.ErrInvalidArgument)
		n++
	}
	require.Equal(t, 2, n)
}

// More events than are read at once are all there, and those of later days are not read
// where a bound says so.
func TestEventsOfManyPagesAndDays(t *testing.T) {
	h := newHost(t)
	intent := h.Intent()
	var want []string
	for range 1001 {
		want = append(want, h.Event(intent, nil).ID)
	}
	last := h.KV.Now()
	h.Clock.Pass(24 * time.Hour)
	next := h.KV.Now()
	h.Event(intent, nil)
	h.Clock.Pass(24 * time.Hour)
	h.Event(intent, nil)
	between := func(ctx context.Context, from, to time.Time) (ids []string) {
		for d, err := range h.Store.Events(ctx, "t", from, to) {
			require.NoError(t, err)
			ids = append(ids, d.ID)
		}
		return ids
	}
	require.Equal(t, want, between(ctx, time.Time{}, last.Add(time.Millisecond)))
	require.Len(t, between(ctx, time.Time{}, time.Time{}), 1003)
	require.Equal(t, []string{fmt.Sprintf("evt-%s-000001", next.Format("20060102"))}, between(ctx, next, next.Add(time.Hour)))
}
