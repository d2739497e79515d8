package namespace_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/namespace"
)

// blow is an Apply that is interrupted: what was there before, and the op.
type blow struct {
	name   string
	node   string
	before []*namespace.Op
	op     *namespace.Op
	frees  bool // it lets others in that have waited, which may take batches of their own
}

// blows are the Applies whose batches differ most.
func blows(t *testing.T) (*forge, []blow) {
	f := opening(t)
	base := f.ops[len(f.ops)-1].ID
	opened := len(f.ops)
	byL := f.op("L", added("A", codec.Member), base)
	byL2 := f.op("L", codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: codec.ContextID{1}}, byL.ID)
	byL3 := f.op("L", codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: is("L"), Name: codec.Some(codec.AliasName("l"))}, byL2.ID)
	twin := f.op("L", named("twin"), base)
	removal := f.op("K", removed("L"), base)
	saving := f.op("Z", removed("K"), base)
	deletion := f.root("Z", codec.RootOp{Kind: codec.RootGroupDeleted, GroupID: f.sub}, base)
	key, _ := f.keyAt(f.heads(), f.sub)
	delivery := f.deliver(f.sub, "Z", key, all("K"), base)
	start := f.ops[:opened:opened]
	with := func(more ...*namespace.Op) []*namespace.Op { return append(start, more...) }
	return f, []blow{
		{"the creating op", "Z", nil, f.ops[0], false},
		{"the first group op", "Z", f.ops[:1], f.ops[1], false},
		{"on top", "M", with(), byL, false},
		{"a context", "M", with(byL), byL2, false},
		{"waiting", "M", with(), byL3, false},
		{"for those that wait", "M", with(byL3, byL2), byL, true},
		{"a revocation beside", "M", with(byL, byL2, byL3), removal, false},
		{"what gives back", "M", with(byL, byL2, byL3, removal), saving, false},
		{"an equivocation", "M", with(byL, byL2), twin, false},
		{"a deletion", "Z", with(byL), deletion, false},
		{"a key", "M", with(byL), delivery, false},
	}
}

// everything returns all rows of an engine.
func everything(t *testing.T, db engine.Reader) map[string]string {
	rows := map[string]string{}
	for col := range column.All {
		it, err := db.Iterate(col, engine.Range{})
		require.NoError(t, err)
		for it.Next() {
			rows[fmt.Sprintf("%s %x", col, it.Key())] = string(it.Value())
		}
		require.NoError(t, it.Err())
		require.NoError(t, it.Close())
	}
	return rows
}

// An Apply that dies at any call of the engine leaves all of itself or nothing, and is
// made good by the same Apply again; one that only fails leaves the store at work.
func TestApplyDiesAtAnyCall(t *testing.T) {
	f, interrupted := blows(t)
	for _, b := range interrupted {
		t.Run(b.name, func(t *testing.T) {
			f.t = t
			w := newWitness(t, f, b.node, newMem())
			for _, op := range b.before {
				w.give(op)
			}
			require.NoError(t, w.store.Close())
			before := everything(t, w.db)
			after := b.outcome(t, f, w)
			for _, calls := range []faulty.Calls{faulty.Writes, faulty.Reads} {
				for _, fault := range []faulty.Fault{faulty.Fail, faulty.CrashBefore, faulty.CrashAfter} {
					b.interrupt(t, f, w, before, after, calls, fault)
				}
			}
			require.NoError(t, w.db.Close())
		})
	}
}

// outcome returns the rows after an Apply that nothing interrupts.
func (b blow) outcome(t *testing.T, f *forge, from *witness) map[string]string {
	w := from.on(t, f, cloned(t, from.db))
	w.give(b.op)
	w.check()
	defer w.close()
	return everything(t, w.db)
}

// on returns the witness of the same ops on another engine.
func (w *witness) on(t *testing.T, f *forge, db engine.Engine) *witness {
	c := &witness{t: t, forge: f, name: w.name, ns: f.ns, db: db, has: cloneMap(w.has), waiting: cloneMap(w.waiting), own: cloneMap(w.own)}
	c.open()
	return c
}

func (b blow) interrupt(t *testing.T, f *forge, from *witness, before, after map[string]string, calls faulty.Calls, fault faulty.Fault) {
	step := 1
	if calls == faulty.Reads {
		step = max(1, 8/enginetest.Scale(8)) // what reads has little that writes had not
	}
	for n := 1; ; n += step {
		inner := cloned(t, from.db)
		broken := faulty.New(inner, faulty.Options{At: n, Calls: calls, Fault: fault})
		w := from.on(t, f, broken)
		if broken.Tripped() { // counting what waits, which a store does without
			require.NoError(t, w.store.Close())
			require.NoError(t, inner.Close())
			continue
		}
		answer, err := w.store.Apply(context.Background(), bytesOf(t, b.op))
		if !broken.Tripped() {
			require.NoError(t, err)
			w.close()
			return
		}
		if fault == faulty.Fail {
			if err != nil {
				require.ErrorIs(t, err, faulty.ErrInjected)
				require.True(t, maps.Equal(before, everything(t, broken)), "what has failed has left something at %d", n)
				w.give(b.op)
			} else {
				w.note(b.op)
				require.Equal(t, namespace.Duplicate, w.give(b.op).Kind)
			}
		} else {
			require.True(t, err != nil && errors.Is(err, faulty.ErrCrashed), "%v, %v", answer.Kind, err)
			_ = w.store.Close()
			next := broken.Restart()
			rows := everything(t, next)
			require.True(t, b.frees || maps.Equal(before, rows) || maps.Equal(after, rows), "neither before nor after at call %d", n)
			w.db = next
			w.open()
			if !maps.Equal(before, rows) {
				w.note(b.op)
			}
			w.give(b.op)
		}
		w.check()
		require.Equal(t, after, everything(t, w.db), "not what an Apply without a fault leaves")
		w.close()
	}
}
