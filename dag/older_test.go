package dag_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/faulty"
)

// asOlder makes the rows of a context those that builds before dag-gone wrote: of each write a row of dag-version, with
// its stamp turned over behind the hash of the key, of the order neither the number of parents nor what is before, and
// no marks in the trie.
func asOlder(t tester, e engine.Engine, context codec.ContextID, base codec.DeltaID) {
	var b engine.Batch
	order := scopedRows(t, e, "dag-order", context)
	deltas := rowsOf(t, e, column.Delta, context[:])
	version := func(key [32]byte, row string, value []byte) {
		k := append(scopeOf(t, "dag-version", context), key[:]...)
		k = binary.BigEndian.AppendUint64(k, ^binary.LittleEndian.Uint64([]byte(row[32:])))
		id := codec.HybridTimestamp{}
		id, err := id.Decode([]byte(row[32 : 32+24]))
		require.NoError(t, err)
		k = binary.BigEndian.AppendUint64(k, ^id.ID.Hi)
		k = binary.BigEndian.AppendUint64(k, ^id.ID.Lo)
		for _, c := range []byte(row[:32]) {
			k = append(k, ^c)
		}
		b.Put(column.Generic, k, value)
	}
	written := map[[32]byte]bool{}
	put := func(value []byte) []byte {
		hash := sha256.Sum256(value)
		return append([]byte{1}, hash[:]...)
	}
	for seq, row := range order {
		if len(row) == 32+24 {
			continue // of a number without a delta
		}
		parents := binary.LittleEndian.Uint32([]byte(row[32+24:]))
		old := row[:32+24] + row[32+24+4:32+24+4+8*parents]
		b.Put(column.Generic, append(scopeOf(t, "dag-order", context), seq...), []byte(old))
		if string(base[:]) == row[:32] {
			continue
		}
		v, err := codec.ContextDagDeltaValue{}.Decode([]byte(deltas[row[:32]]))
		require.NoError(t, err)
		for _, a := range v.Actions {
			value := []byte{2}
			if a.Kind == codec.ActionPut {
				value = put(a.Value)
			}
			written[sha256.Sum256(a.Key)] = true
			version(sha256.Sum256(a.Key), row, value)
		}
	}
	if !base.IsZero() {
		first := order[string(binary.BigEndian.AppendUint64(nil, 1))]
		for hash, row := range scopedRows(t, e, "dag-seeded", context) {
			key := binary.LittleEndian.Uint32([]byte(row))
			version([32]byte([]byte(hash)), first, put([]byte(row[4+key:])))
		}
		for key, value := range rowsOf(t, e, column.State, context[:]) {
			if hash := sha256.Sum256([]byte(key)); !written[hash] {
				version(hash, first, put([]byte(value)))
			}
		}
	}
	for at, row := range scopedRows(t, e, "dag-trie", context) {
		if row[0] == 3 {
			older := unmarked(map[string]string{"": row})[""]
			b.Put(column.Generic, append(scopeOf(t, "dag-trie", context), at...), append([]byte{1}, older[1:]...))
		}
	}
	for _, scope := range []string{"dag-gone", "dag-late"} {
		prefix := scopeOf(t, scope, context)
		b.DeleteRange(column.Generic, prefix, engine.Successor(prefix))
	}
	require.NoError(t, e.Apply(&b))
}

// Rows of older builds are made those of this one when a store is opened, wherever the process ends on the way.
func TestRowsOfOlderBuildsAreMadeAnew(t *testing.T) {
	enginetest.Check(t, 200, func(t *rapid.T) {
		w := drawWorld(t, 14)
		n, facts := withdrawable(t, w, dag.Options{BaseAge: -1})
		defer n.stop()
		if rapid.Bool().Draw(t, "seeded") {
			from := n
			n = startReplica(t, w, dag.Options{BaseAge: -1})
			defer n.stop()
			n.clock.advance(1 << 40)
			_, err := n.store.Seed(bg, w.context, from.store.Snapshot(bg, w.context, nil), dag.SeedOptions{})
			require.NoError(t, err)
		}
		if len(facts) > 0 && rapid.Bool().Draw(t, "withdrawn") {
			_ = n.withdraw([]codec.DeltaID{facts[len(facts)-1].id})
		}
		require.NoError(t, n.store.Close())
		want := everything(t, n.inner)
		row := scopedRows(t, n.inner, "dag-context", w.context)[""]
		var base codec.DeltaID
		copy(base[:], row)
		asOlder(t, n.inner, w.context, base)
		if len(scopedRows(t, n.inner, "dag-version", w.context)) == 0 {
			for key := range everything(t, n.inner) {
				require.Contains(t, want, key)
			}
			t.Skip("no versions, and nothing to make anew")
		}
		require.NotEqual(t, want, everything(t, n.inner))

		for i := 1; ; i++ { // the process ends with each write
			broken := faulty.New(n.inner, faulty.Options{At: i, Calls: faulty.Writes, Fault: faulty.CrashAfter})
			s, err := dag.Open(broken, n.options)
			if err == nil {
				_ = s.Close()
			}
			tripped := broken.Tripped()
			broken.Restart()
			if !tripped || err == nil {
				break
			}
		}
		var log bytes.Buffer
		n.options.Log = slog.New(slog.NewTextHandler(&log, nil))
		n.engine = faulty.New(n.inner, faulty.Options{})
		n.open()
		require.NotContains(t, log.String(), "ERROR")
		require.Equal(t, want, everything(t, n.inner))
		n.verify()
	})
}

// scopeOf returns what the keys of a scope begin with that are of a context.
func scopeOf(t tester, scope string, context codec.ContextID) []byte {
	return append([]byte(scope+string(make([]byte, 16-len(scope)))), context[:]...)
}

func TestRowsOfOlderBuildsAreNotVerified(t *testing.T) {
	x := newTailed(t, 1)
	x.commit(5)
	require.NoError(t, x.s.Close())
	asOlder(t, x.db, ctx1, codec.DeltaID{})
	view, err := dag.View(x.db, x.o)
	require.NoError(t, err)
	findings := x.verified(view)
	require.Len(t, findings, 1)
	require.Equal(t, dag.FindingUnproved, findings[0].Code)
	require.Contains(t, findings[0].Detail, "an older build")
	x.requireProved(view)

	// One that is damaged keeps none of the others from being served.
	var b engine.Batch
	b.DeleteRange(column.Delta, ctx1[:], engine.Successor(ctx1[:]))
	require.NoError(t, x.db.Apply(&b))
	var log bytes.Buffer
	x.o.Log = slog.New(slog.NewTextHandler(&log, nil))
	x.kill()
	require.Contains(t, log.String(), "can't be made anew")
	require.NoError(t, x.s.CreateContext(ctx2, appNumber(1)))
	require.NoError(t, x.s.DeleteContext(ctx1))
	require.Zero(t, rowsAt(t, x.db, column.Generic, scoped("dag-version")))
}
