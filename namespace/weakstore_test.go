package namespace_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// The tests named TestWeakPoint… show, each, that a weak point which other software of
// this kind is known to have had is none here. This file has those of atomicity, order
// and nonces.

// The log, the head, the nonce and the rows of an op were as many writes, with a death
// between them.
func TestWeakPoint01AnOpIsOneBatch(t *testing.T) {
	f := opening(t)
	inner := newMem()
	db := faulty.New(inner, faulty.Options{})
	w := newWitness(t, f, "Z", db)
	defer w.close()
	for _, op := range f.ops {
		before := db.Count(faulty.Writes)
		w.give(op)
		require.Equal(t, before+1, db.Count(faulty.Writes))
	}
	before := db.Count(faulty.Writes)
	w.give(f.ops[2])
	require.Equal(t, before, db.Count(faulty.Writes), "what is there already is not written again")
	w.check()
}

// The DAG was in memory only: after a restart ops waited for ancestors that were there,
// and what came again was applied again.
func TestWeakPoint02TheDAGIsThereAfterARestart(t *testing.T) {
	f := opening(t)
	for n := range 10 {
		f.op("K", named(string(rune('a'+n))), f.ops[len(f.ops)-1-n%3].ID)
	}
	w := newWitness(t, f, "M", newMem())
	defer w.close()
	for n, op := range f.ops {
		w.give(op)
		w.restart()
		rows := everything(t, w.db)
		require.Equal(t, namespace.Duplicate, w.give(f.ops[n/2]).Kind)
		require.Equal(t, rows, everything(t, w.db))
		w.check()
	}
}

// A deletion left keys and nonces of some behind, and wrote a new log for the deleted
// group.
func TestWeakPoint03ADeletedGroupLeavesOnlyItsHistory(t *testing.T) {
	f := opening(t)
	f.in(f.sub, "Z", codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: codec.ContextID{1}})
	f.in(f.sub, "K", named("sub"))
	w := f.holding(t, "Z")
	defer w.close()
	_, log := w.column()
	f.root("Z", codec.RootOp{Kind: codec.RootGroupDeleted, GroupID: f.sub})
	w.give(f.ops[len(f.ops)-1])
	w.check()
	rows, after := w.column()
	require.Equal(t, log, after)
	kept := map[byte]int{}
	for key := range rows {
		if len(key) > 32 && codec.GroupID([]byte(key[1:33])) == f.sub {
			kept[key[0]]++
		}
	}
	require.Equal(t, map[byte]int{0x2C: 2, 0x31: 1, 0x3A: 1}, kept)
	for _, gone := range []byte{0x23, 0x35} { // keyed by the context, and by the parent
		for key := range rows {
			require.NotEqual(t, gone, key[0])
		}
	}
	w.restart()
	late := f.in(f.sub, "K", named("late"), f.ops[len(f.ops)-2].ID)
	w.give(late)
	w.check()
}

// A high-water mark of nonces dropped, for ever, the op that came after one with a
// higher nonce.
func TestWeakPoint04NoOrderOfArrivalDropsAnOp(t *testing.T) {
	f := opening(t)
	from := len(f.ops)
	base := f.heads()[0]
	long := f.op("K", named("1"), base)
	long = f.op("K", codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: codec.ContextID{1}}, long.ID)
	long = f.op("K", added("B", codec.Member), long.ID)
	other := f.op("K", added("A", codec.Member), base) // the nonce of the first
	r := f.everyOrder(t, from)
	requireVerdict(t, "effective", r, long)
	requireVerdict(t, "effective", r, other)
	require.Subset(t, r.Members(f.ns), all("A", "B"))
}

// When a key came, the ops under it were tried by the order of their hashes, so that
// those of one signer dropped each other.
func TestWeakPoint05WhatAKeyOpensTakesEffectWhole(t *testing.T) {
	f := opening(t)
	for n := range 12 {
		f.in(f.sub, []string{"Z", "K"}[n%2], codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: codec.ContextID{byte(n + 1)}})
	}
	f.in(f.sub, "Z", added("M", codec.Member))
	key, _ := f.keyAt(f.heads(), f.sub)
	w := f.holding(t, "M")
	defer w.close()
	require.Equal(t, 12, countOf(w.check(), group.Sealed))
	f.deliver(f.sub, "Z", key, all("M"))
	a := w.give(f.ops[len(f.ops)-1])
	require.Len(t, a.Changed, 12)
	require.Zero(t, countOf(w.check(), group.Sealed))
	var last codec.SignedGroupOp
	for e, err := range engine.Scan(w.db, keys.OpsOf(f.sub)) {
		require.NoError(t, err)
		op, err := codec.SignedGroupOp{}.Decode(e.Value.Op)
		require.NoError(t, err)
		if namespace.IsClear(op.Op.Kind) {
			continue // it was read before
		}
		require.True(t, op.Signer != last.Signer || op.Nonce > last.Nonce, "not after its ancestors")
		last = op
	}
}

func countOf(r *group.Result, o group.Outcome) (n int) {
	for _, v := range r.Verdicts {
		if v.Outcome == o {
			n++
		}
	}
	return n
}

// The author's node stored a nonce of the group, others one of the namespace.
func TestWeakPoint06NoncesAreOneSpace(t *testing.T) {
	f := opening(t)
	f.in(f.sub, "K", named("in the sub"))
	f.op("K", named("in the root"))
	var first codec.Nonce
	for n, name := range []string{"K", "Z", "A"} {
		w := f.holding(t, name)
		nonce, err := engine.Get(w.db, keys.GroupLocalGovNonce{Group: f.sub, Signer: is("K")})
		require.NoError(t, err)
		if n == 0 {
			first = nonce
		}
		require.Equal(t, first, nonce)
		above, err := engine.Get(w.db, keys.GroupLocalGovNonce{Group: f.ns, Signer: is("K")})
		require.NoError(t, err)
		require.Equal(t, nonce+1, above)
		w.close()
	}
}

// A signer could jump to the greatest nonce and lock itself out.
func TestWeakPoint07NoncesHaveNoGaps(t *testing.T) {
	f := opening(t)
	w := f.holding(t, "Z")
	defer w.close()
	rows := everything(t, w.db)
	for _, nonce := range []uint64{0, 1, 3, 1 << 20, ^uint64(0)} {
		s := f.draft("K", nil)
		if s.Nonce == nonce {
			continue
		}
		s.Op.Root.Kind, s.Nonce = codec.RootMerge, nonce
		require.NoError(t, namespace.Sign(s, who("K")))
		require.Nil(t, f.take(s), nonce)
	}
	for _, bad := range f.refused {
		w.giveBad(bad)
	}
	require.GreaterOrEqual(t, len(f.refused), 4)
	require.Equal(t, rows, everything(t, w.db))
	w.give(f.op("K", named("the next")))
	w.check()
}

// A hash of the state refused what was made beside something else.
func TestWeakPoint08WhatIsMadeBesideCounts(t *testing.T) {
	f := opening(t)
	from, base := len(f.ops), f.heads()[0]
	var beside []*namespace.Op
	for n, name := range []string{"Z", "K", "L", "K"} {
		beside = append(beside, f.op(name, added([]string{"A", "B", "X", "N"}[n], codec.Member), base))
	}
	r := f.everyOrder(t, from)
	for _, op := range beside {
		requireVerdict(t, "effective", r, op)
	}
}

// Rights were those of the moment of arrival.
func TestWeakPoint09RightsAreThoseAtTheCut(t *testing.T) {
	f := opening(t)
	from := len(f.ops)
	before := f.op("K", added("A", codec.Member))
	removal := f.op("Z", removed("K"), before.ID)
	after := f.op("K", added("B", codec.Member), removal.ID)
	early := f.op("B", named("not yet")) // by one who is never let in
	r := f.everyOrder(t, from)
	requireVerdict(t, "effective", r, before)
	requireVerdict(t, "effective", r, removal)
	requireVerdict(t, "void: right revoked", r, after)
	require.Equal(t, group.Void, r.Verdicts[early.ID].Outcome)
}

// The oldest of more than 64 heads were dropped, while an op could have 256 parents.
func TestWeakPoint10HeadsAreJoinedNotDropped(t *testing.T) {
	f := opening(t)
	base := f.heads()[0]
	for n := range 70 {
		f.op("K", named(string(rune('A'+n))), base)
	}
	w := f.holding(t, "Z")
	defer w.close()
	heads := w.heads()
	require.Len(t, heads, 70)
	many := f.draft("K", heads[:65])
	many.Op.Root.Kind = codec.RootMerge
	require.NoError(t, namespace.Sign(many, who("K")))
	require.Nil(t, f.take(many))
	w.giveBad(f.refused[0])
	require.Equal(t, namespace.BadForm, f.refused[0].reason)
	w.check()
	made := w.propose(f.ns, named("joined"))
	require.Greater(t, len(made), 1)
	for _, op := range made {
		require.LessOrEqual(t, len(op.Parents), namespace.MaxParents)
		f.ops, f.byID[op.ID] = append(f.ops, op), op
	}
	heads = w.heads()
	require.Len(t, heads, 1)
	require.Len(t, f.cut(heads), len(f.ops))
	w.check()
}

// More than one page of history was sent in the order of hashes, and never whole.
func TestWeakPoint22HistoryIsSentWhole(t *testing.T) {
	f := opening(t)
	for n := range 300 {
		name := []string{"K", "L"}[n%2]
		s := f.draft(name, []codec.OpID{f.ops[len(f.ops)-1-n%2].ID}) // a ladder
		s.Op.Root.Kind = codec.RootMerge
		require.NoError(t, namespace.Sign(s, who(name)))
		f.takeUnchecked(s)
	}
	from := f.holding(t, "Z")
	defer from.close()
	to := newWitness(t, f, "M", newMem())
	defer to.close()
	writes := 0
	for cursor := uint64(0); ; { // in pieces, each begun anew
		last := cursor
		for sent, err := range from.store.OpsSince(context.Background(), f.ns, nil, cursor) {
			require.NoError(t, err)
			a, err := to.store.Apply(context.Background(), sent.Wire)
			require.NoError(t, err)
			require.Equal(t, namespace.Stored, a.Kind, "each comes after its ancestors")
			cursor = sent.Cursor
			if writes++; writes%100 == 0 {
				break
			}
		}
		if cursor == last {
			break
		}
	}
	require.Equal(t, len(f.ops), writes, "nothing that is received makes a node write ops")
	ops := 0
	for e, err := range engine.Scan(to.db, keys.GovOpsOf(f.ns)) {
		require.NoError(t, err)
		require.NotNil(t, f.byID[e.Key.Delta])
		ops++
	}
	require.Equal(t, len(f.ops), ops)
}

// Ops were found by scans of the whole history.
func TestWeakPoint23AnOpCostsAsMuchAfterALongHistory(t *testing.T) {
	f := opening(t)
	db := faulty.New(newMem(), faulty.Options{})
	w := newWitness(t, f, "M", db)
	defer w.close()
	for _, op := range f.ops {
		w.give(op)
	}
	var reads []int
	opened := f.ops[len(f.ops)-1].ID
	for n := range 400 {
		s := f.draft("K", []codec.OpID{f.ops[len(f.ops)-1].ID})
		s.Op.Root.Kind = codec.RootMerge
		require.NoError(t, namespace.Sign(s, who("K")))
		w.give(f.takeUnchecked(s))
		if n%100 == 99 {
			before := db.Count(faulty.Reads)
			s := f.draft("K", []codec.OpID{f.ops[len(f.ops)-1].ID})
			key, _ := f.keyAt([]codec.OpID{opened}, f.ns)
			f.seal(s, f.ns, key, f.inner(s, f.ns, named("x")))
			require.NoError(t, namespace.Sign(s, who("K")))
			w.give(f.takeUnchecked(s))
			reads = append(reads, db.Count(faulty.Reads)-before)
		}
	}
	require.Len(t, slices.Compact(reads[1:]), 1, "the reads of an op grow with the history: %v", reads) // the first reads the key's op
}

// takeUnchecked adds what is admissible: of long histories that takes too long to see.
func (f *forge) takeUnchecked(s *codec.SignedNamespaceOp) *namespace.Op {
	op, err := namespace.NewOp(s)
	require.NoError(f.t, err)
	f.ops, f.byID[op.ID] = append(f.ops, op), op
	return op
}

// Only the author's node had the log.
func TestWeakPoint24EveryNodeHasTheLog(t *testing.T) {
	f := opening(t)
	f.op("K", named("x"))
	var logs []map[string]string
	for _, name := range []string{"K", "Z", "L"} {
		w := f.holding(t, name)
		_, log := w.column()
		for key := range log {
			if codec.GroupID([]byte(key[1:33])) == f.sub {
				delete(log, key)
			}
		}
		logs = append(logs, log)
		w.close()
	}
	require.Len(t, logs[0], 5)
	require.Equal(t, logs[0], logs[1], "they were given the ops in one order")
	require.Equal(t, logs[0], logs[2])
}

// A row that did not decode was taken for the end of the rows.
func TestWeakPoint25DamageIsReported(t *testing.T) {
	f := opening(t)
	f.op("K", named("x"))
	random := rand.New(rand.NewPCG(1, 1))
	for _, prefix := range []byte{0x30, 0x38} {
		w := f.holding(t, "Z")
		rows, log := w.column()
		for key, v := range log {
			rows[key] = v
		}
		for key, v := range rows {
			if key[0] != prefix {
				continue
			}
			if prefix == 0x30 {
				row, err := codec.OpLogValue{}.Decode([]byte(v))
				require.NoError(t, err)
				logged, err := codec.SignedGroupOp{}.Decode(row.Op)
				require.NoError(t, err)
				if namespace.IsClear(logged.Op.Kind) {
					continue // its op has it too
				}
			}
			var b engine.Batch
			b.Put(column.Group, []byte(key), []byte(v[:random.IntN(len(v))]))
			require.NoError(t, w.db.Apply(&b))
			w.restart()
			_, err := w.store.Apply(context.Background(), bytesOf(t, f.op("K", named("y"))))
			require.ErrorIs(t, err, engine.ErrCorrupt, "%x", key)
			b.Reset()
			b.Put(column.Group, []byte(key), []byte(v))
			require.NoError(t, w.db.Apply(&b))
		}
		w.close()
	}
}

// An op that did not decode stayed waiting, and with it all that came after.
func TestWeakPoint26WhatDoesNotDecodeHoldsUpNothing(t *testing.T) {
	f := opening(t)
	from := len(f.ops)
	s := f.draft("K", nil)
	key, _ := f.keyAt(s.Parents, f.ns)
	f.seal(s, f.ns, key, []byte("this is no op"))
	require.NoError(t, namespace.Sign(s, who("K")))
	bad := f.take(s)
	after := f.op("Z", named("after"), bad.ID)
	r := f.everyOrder(t, from)
	requireVerdict(t, "void: malformed", r, bad)
	requireVerdict(t, "effective", r, after)
}
