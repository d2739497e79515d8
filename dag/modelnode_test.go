package dag_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

// tester is what a testing.T and a rapid.T have in common.
type tester interface {
	require.TestingT
	Helper()
	Logf(format string, args ...any)
}

// handClock is a physical clock that a test moves.
type handClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *handClock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }

func (c *handClock) advance(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.now = c.now.Add(d) }

// replica is a store that is given the deltas of a world, and what the world says
// of it.
type replica struct {
	t       tester
	world   *world
	clock   *handClock
	options dag.Options
	faults  func() faulty.Options // what goes wrong next; nil: nothing
	lazy    bool                  // what is given may be verified in the background
	forgets bool                  // refusals are not compared
	inner   engine.Engine
	engine  *faulty.Engine
	store   *dag.Store

	delivered map[codec.DeltaID]bool // and neither lost nor early
	verdicts  outcome
}

// startReplica returns a node that has an empty context.
func startReplica(t tester, w *world, o dag.Options) *replica {
	n := &replica{t: t, world: w, clock: &handClock{now: dawn}, options: o, inner: mem.New(), delivered: map[codec.DeltaID]bool{}}
	if n.options.Node.IsZero() {
		n.options.Node = codec.NodeID{Lo: 100}
	}
	if n.options.MaxTail == 0 {
		n.options.MaxTail = []int{0, 1, 2, 5}[len(w.all)%4]
	}
	n.options.Now = n.clock.Now
	n.verdicts = w.judge(n.delivered)
	n.engine = faulty.New(n.inner, faulty.Options{})
	n.open()
	require.NoError(t, n.store.CreateContext(w.context, appNumber(1)))
	return n
}

func (n *replica) open() {
	n.t.Helper()
	var err error
	for range 100 {
		if n.store, err = dag.Open(n.engine, n.options); err == nil || !n.broken(err) {
			break
		}
		n.reboot()
	}
	require.NoError(n.t, err)
}

// broken reports whether err is from a fault that the test made.
func (n *replica) broken(err error) bool {
	return errors.Is(err, faulty.ErrCrashed) || errors.Is(err, faulty.ErrInjected)
}

// reboot makes an engine as the next process finds it, with the next fault.
func (n *replica) reboot() {
	n.engine.Restart()
	o := faulty.Options{}
	if n.faults != nil {
		o = n.faults()
	}
	n.engine = faulty.New(n.inner, o)
}

// restart ends the process, at once where kill is set, and starts the next.
func (n *replica) restart(kill bool) {
	n.t.Helper()
	if kill {
		n.engine.Restart()
	}
	if err := n.store.Close(); err != nil && !n.broken(err) {
		require.NoError(n.t, err)
	}
	n.reboot()
	n.open()
}

func (n *replica) stop() {
	_ = n.store.Close()
	n.engine.Restart()
	_ = n.inner.Close()
}

// early reports whether the node's clock is too far behind for f.
func (n *replica) early(f *fact) bool {
	return f.delta.HLC.Time > uint64(hlc.ToNTP64(n.clock.Now()))+5*ntpSecond
}

// give adds a delta and compares the answer with what the world says. It returns
// false if the node was early for it.
func (n *replica) give(f *fact) bool {
	n.t.Helper()
	for range 100 {
		answer, err := n.store.Add(context.Background(), f.delta, dag.AddOptions{Durability: engine.WAL})
		switch {
		case err == nil:
			return n.answered(f, answer)
		case !n.broken(err):
			require.NoError(n.t, err)
		case errors.Is(err, faulty.ErrCrashed):
			n.restart(true)
		}
		n.recover(f)
	}
	n.t.Errorf("a delta could not be added in a hundred attempts")
	n.t.FailNow()
	return false
}

// recover looks at what a call left that failed: everything or nothing of it.
func (n *replica) recover(f *fact) {
	n.t.Helper()
	after := n.world.judge(withID(n.delivered, f.id))
	info, err := n.store.Context(n.world.context)
	if n.broken(err) { // by the next fault
		return
	}
	require.NoError(n.t, err)
	switch int(info.Applied) {
	case len(n.verdicts.applied):
		if info.Pending != len(n.verdicts.pending) {
			require.Len(n.t, after.pending, info.Pending, "half of an Add")
		}
	case len(after.applied):
		require.Len(n.t, after.pending, info.Pending, "half of an Add")
	default:
		require.Failf(n.t, "half of an Add", "%d applied, where there were %d before and %d if it is there", info.Applied, len(n.verdicts.applied), len(after.applied))
	}
}

// settle waits until the background has nothing left to verify.
func (n *replica) settle() {
	n.t.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(100 * time.Microsecond) {
		info, err := n.store.Context(n.world.context)
		require.NoError(n.t, err)
		if int(info.Applied) == len(n.verdicts.applied) && info.Pending == len(n.verdicts.pending) {
			return
		}
	}
	n.t.Errorf("not settled after a minute")
	n.t.FailNow()
}

// giveBounded gives a delta to a node that keeps no more than limit waiting, and
// follows what it throws out.
func (n *replica) giveBounded(f *fact, limit int) {
	n.t.Helper()
	t := n.t
	a, err := n.store.Add(context.Background(), f.delta, dag.AddOptions{Durability: engine.WAL})
	require.NoError(t, err)
	n.delivered = withID(n.delivered, f.id)
	evicted := map[codec.DeltaID]bool{}
	for _, id := range a.Evicted {
		require.True(t, n.delivered[id], "thrown out what was not there")
		require.False(t, evicted[id])
		evicted[id] = true
		delete(n.delivered, id)
	}
	n.verdicts = n.world.judge(n.delivered)
	for id := range evicted {
		require.Nil(t, n.verdicts.applied[id])
	}
	info, err := n.store.Context(n.world.context)
	require.NoError(t, err)
	require.LessOrEqual(t, info.Pending, limit)
	require.Equal(t, len(n.verdicts.applied), int(info.Applied))
	require.Equal(t, len(n.verdicts.pending), info.Pending, "what is gone was reported, and nothing else")
	n.check()
}

func setOf(facts []*fact) map[codec.DeltaID]bool {
	set := map[codec.DeltaID]bool{}
	for _, f := range facts {
		set[f.id] = true
	}
	return set
}

func withID(set map[codec.DeltaID]bool, id codec.DeltaID) map[codec.DeltaID]bool {
	set = maps.Clone(set)
	set[id] = true
	return set
}

// answered checks an answer and takes it for what has happened.
func (n *replica) answered(f *fact, a dag.Answer) bool {
	n.t.Helper()
	t := n.t
	require.Equal(t, f.id, a.ID)
	before, after := n.verdicts, n.world.judge(withID(n.delivered, f.id))
	known := n.delivered[f.id]
	if a.Kind == dag.TooEarly {
		require.True(t, n.early(f), "early in vain")
		require.Positive(t, a.RetryAfter)
		return false
	}
	if n.early(f) && !known {
		require.Equal(t, dag.Refused, a.Kind, "taken before its time")
	}
	n.delivered[f.id], n.verdicts = true, after
	if a.Kind == dag.Duplicate && n.faults != nil && !known {
		return true // an attempt that failed had its effect
	}
	if n.lazy {
		if a.Kind == dag.Pending && a.Verifying {
			require.Empty(t, a.Missing)
		}
		return true
	}
	switch {
	case after.refused[f.id] != nil:
		require.Equal(t, dag.Refused, a.Kind, "%+v", a)
		require.NotNil(t, a.Refusal)
		require.Equal(t, f.id, a.Refusal.Delta)
		require.Equal(t, after.reason(f), a.Refusal.Reason)
		if a.Refusal.Reason == dag.RootMismatch {
			require.Equal(t, f.delta.ExpectedRoot, a.Refusal.Expected)
			require.Equal(t, f.correct, a.Refusal.Computed)
		}
	case known:
		require.Equal(t, dag.Duplicate, a.Kind)
	case after.applied[f.id] != nil:
		require.Equal(t, dag.Applied, a.Kind)
		require.Equal(t, f.id, a.Applied[0])
		n.cascaded(a.Applied, before, after)
		require.Equal(t, rootOf(after.applied), a.Root)
	default:
		require.Equal(t, dag.Pending, a.Kind)
		require.Equal(t, after.missingOf(f), a.Missing)
	}
	refused := map[codec.DeltaID]bool{}
	for _, r := range a.Refused {
		refused[r.Delta] = true
		require.Contains(t, after.refused, r.Delta)
		require.Equal(t, after.reason(n.world.byID[r.Delta]), r.Reason)
	}
	for id := range after.refused {
		if before.refused[id] == nil && id != f.id && n.faults == nil {
			require.Contains(t, refused, id, "a refusal in the cascade is reported")
		}
	}
	return true
}

// cascaded checks the order in which deltas were applied.
func (n *replica) cascaded(ids []codec.DeltaID, before, after outcome) {
	n.t.Helper()
	done := maps.Clone(before.applied)
	for _, id := range ids {
		require.Contains(n.t, after.applied, id)
		require.NotContains(n.t, done, id)
		for _, p := range n.world.byID[id].delta.Parents {
			require.Contains(n.t, done, p, "applied before its parent")
		}
		done[id] = n.world.byID[id]
	}
	require.Len(n.t, done, len(after.applied), "all that can be applied is")
}

// rowsOf returns the rows of a column that begin with prefix, without it.
func rowsOf(t tester, r engine.Reader, col column.Column, prefix []byte) map[string]string {
	t.Helper()
	it, err := r.Iterate(col, engine.Prefixed(prefix))
	require.NoError(t, err)
	defer it.Close()
	rows := map[string]string{}
	for it.Next() {
		rows[string(it.Key()[len(prefix):])] = string(it.Value())
	}
	require.NoError(t, it.Err())
	return rows
}

func scopedRows(t tester, r engine.Reader, scope string, context codec.ContextID) map[string]string {
	t.Helper()
	s, err := keys.NewScope(scope)
	require.NoError(t, err)
	return rowsOf(t, r, column.Generic, slices.Concat(s[:], context[:]))
}

// unmarked returns rows of a trie without the marks of leaves, which are numbers of the node's own.
func unmarked(rows map[string]string) map[string]string {
	for key, row := range rows {
		if row[0] == 3 {
			bare := "\x03"
			for leaves := row[1 : len(row)-4]; leaves != ""; leaves = leaves[32+32+8:] {
				bare += leaves[:32+32]
			}
			rows[key] = bare
		}
	}
	return rows
}

// versionsOf returns the ids of the deltas that have written each key, by its hash, the newest first, as the rows say by
// README.md.
func versionsOf(t tester, r engine.Reader, context codec.ContextID) map[string]string {
	t.Helper()
	order := scopedRows(t, r, "dag-order", context)
	deltas := rowsOf(t, r, column.Delta, context[:])
	newest := scopedRows(t, r, "dag-gone", context)
	for _, row := range scopedRows(t, r, "dag-trie", context) {
		for leaves := row[1 : len(row)-4]; row[0] == 3 && leaves != ""; leaves = leaves[32+32+8:] {
			require.NotContains(t, newest, leaves[:32])
			newest[leaves[:32]] = leaves[32+32 : 32+32+8]
		}
	}
	all := map[string][]string{} // stamps with ids
	for key, last := range newest {
		require.Len(t, last, 8)
		for seq := binary.LittleEndian.Uint64([]byte(last)); seq != 0; {
			row := order[string(binary.BigEndian.AppendUint64(nil, seq))]
			require.GreaterOrEqual(t, len(row), 32+24+4)
			hlc, err := codec.HybridTimestamp{}.Decode([]byte(row[32 : 32+24]))
			require.NoError(t, err)
			stamp := binary.BigEndian.AppendUint64(nil, hlc.Time)
			stamp = binary.BigEndian.AppendUint64(stamp, hlc.ID.Hi)
			stamp = append(binary.BigEndian.AppendUint64(stamp, hlc.ID.Lo), row[:32]...)
			if n := len(all[key]); n > 0 {
				require.Less(t, string(stamp), all[key][n-1], "the chain goes down")
			}
			all[key] = append(all[key], string(stamp))
			parents := binary.LittleEndian.Uint32([]byte(row[32+24:]))
			before := row[32+24+4+8*parents:]
			if before == "" {
				break // the base
			}
			v, err := codec.ContextDagDeltaValue{}.Decode([]byte(deltas[row[:32]]))
			require.NoError(t, err)
			var keys []string
			for _, a := range v.Actions {
				hash := sha256.Sum256(a.Key)
				keys = append(keys, string(hash[:]))
			}
			require.Len(t, before, 8*len(keys))
			slices.Sort(keys)
			at, is := slices.BinarySearch(keys, key)
			require.True(t, is)
			seq = binary.LittleEndian.Uint64([]byte(before[8*at:]))
		}
	}
	for row, seq := range scopedRows(t, r, "dag-late", context) {
		stamp := []byte(row[32:])
		for i := range stamp {
			stamp[i] = ^stamp[i]
		}
		all[row[:32]] = append(all[row[:32]], string(stamp))
		place := order[string(binary.BigEndian.AppendUint64(nil, binary.LittleEndian.Uint64([]byte(seq))))]
		require.Equal(t, string(stamp[24:]), place[:32])
	}
	versions := map[string]string{}
	for key, stamps := range all {
		slices.Sort(stamps)
		slices.Reverse(stamps)
		require.Len(t, slices.Compact(slices.Clone(stamps)), len(stamps))
		for _, stamp := range stamps {
			versions[key] += stamp[24:]
		}
	}
	return versions
}

// shared returns all rows that are the same on every node with the same deltas.
func (n *replica) shared() map[string]map[string]string {
	n.t.Helper()
	c := n.world.context
	n.store.EndTail(c)
	deltas := rowsOf(n.t, n.inner, column.Delta, c[:])
	maps.DeleteFunc(deltas, func(id, _ string) bool { return n.verdicts.applied[codec.DeltaID([]byte(id))] == nil })
	return map[string]map[string]string{
		"State": rowsOf(n.t, n.inner, column.State, c[:]), "Meta": rowsOf(n.t, n.inner, column.Meta, c[:]), "Delta": deltas,
		"versions": versionsOf(n.t, n.inner, c), "trie": unmarked(scopedRows(n.t, n.inner, "dag-trie", c)),
	}
}

// check compares everything that the node has with what the world says.
func (n *replica) check() {
	n.t.Helper()
	t, w, o := n.t, n.world, n.verdicts
	rows := n.shared()
	require.Equal(t, foldState(o.applied), rows["State"])
	require.Equal(t, o.versions(), rows["versions"])
	meta, err := engine.Get(n.inner, keys.ContextMeta{Context: w.context})
	require.NoError(t, err)
	root := rootOf(o.applied)
	require.Equal(t, root, meta.RootHash)
	require.NoError(t, merkle.Check(n.inner, w.context, root, nil))
	heads, err := dag.HeadsOf(n.inner, w.context, meta.DagHeads)
	require.NoError(t, err)
	require.ElementsMatch(t, o.heads(), heads)
	require.Len(t, rows["Delta"], len(o.applied))
	for entry, err := range engine.Scan(n.inner, keys.DeltasOf(w.context)) {
		require.NoError(t, err)
		f := w.byID[entry.Key.Delta]
		require.NotNil(t, f)
		require.Equal(t, o.applied[f.id] != nil, entry.Value.Applied)
		require.True(t, entry.Value.Applied || o.pending[f.id] != nil, "a row of a delta that is neither applied nor pending")
		v := entry.Value
		require.Equal(t, naiveDelta(f.delta), naiveDelta(&dag.Delta{Context: w.context, Parents: v.Parents, Actions: v.Actions, HLC: v.HLC, ExpectedRoot: v.ExpectedRootHash, Events: v.Events}))
	}
	n.checkReads()
}

// checkReads compares what the node answers to questions.
func (n *replica) checkReads() {
	n.t.Helper()
	t, c, o := n.t, n.world.context, n.verdicts
	heads, root, err := n.store.Heads(c)
	require.NoError(t, err)
	require.Equal(t, rootOf(o.applied), root)
	var ids []codec.DeltaID
	for _, h := range heads {
		ids = append(ids, h.ID)
		require.Equal(t, n.world.byID[h.ID].delta.HLC, h.HLC)
	}
	require.ElementsMatch(t, o.heads(), ids)

	var missing []codec.DeltaID
	for {
		page, err := n.store.Missing(c, lastOf(missing), pageOf)
		require.NoError(t, err)
		if missing = append(missing, page...); len(page) < pageOf {
			break
		}
	}
	require.Equal(t, o.missing(), missing)
	n.checkPending()
	if !n.forgets {
		n.checkRefusals()
	}
	for key, value := range foldState(o.applied) {
		got, err := n.store.State(c, []byte(key))
		require.NoError(t, err)
		require.Equal(t, value, string(got))
	}
	_, err = n.store.State(c, []byte("never written"))
	require.ErrorIs(t, err, engine.ErrNotFound)
}

func (n *replica) checkPending() {
	n.t.Helper()
	t, c := n.t, n.world.context
	var pending []codec.DeltaID
	var last uint64
	var bytes int64
	for {
		page, err := n.store.Pending(c, last, pageOf)
		require.NoError(t, err)
		for _, p := range page {
			require.Greater(t, p.Arrival, last)
			pending, last, bytes = append(pending, p.ID), p.Arrival, bytes+int64(p.Bytes)
			require.Len(t, naiveDelta(n.world.byID[p.ID].delta), int(p.Bytes))
			d, state, err := n.store.Get(c, p.ID)
			require.NoError(t, err)
			require.Equal(t, dag.StatePending, state)
			require.Equal(t, naiveDelta(n.world.byID[p.ID].delta), naiveDelta(d))
		}
		if len(page) < pageOf {
			break
		}
	}
	require.ElementsMatch(t, sortedIDs(n.verdicts.pending), pending)
	info, err := n.store.Context(c)
	require.NoError(t, err)
	require.Equal(t, len(pending), info.Pending)
	require.Equal(t, bytes, info.PendingBytes)
	require.Equal(t, len(n.verdicts.applied), int(info.Applied))
	require.Equal(t, rootOf(n.verdicts.applied), info.Root)
	require.Equal(t, n.verdicts.heads(), info.Heads)
}

func (n *replica) checkRefusals() {
	n.t.Helper()
	var refused []codec.DeltaID
	var last uint64
	for {
		page, err := n.store.Refusals(n.world.context, last, pageOf)
		require.NoError(n.t, err)
		for _, r := range page {
			refused, last = append(refused, r.Delta), r.Seq
			require.Equal(n.t, n.verdicts.reason(n.world.byID[r.Delta]), r.Reason)
			_, _, err := n.store.Get(n.world.context, r.Delta)
			require.ErrorIs(n.t, err, dag.ErrNoDelta, "nothing is kept of what is refused")
		}
		if len(page) < pageOf {
			break
		}
	}
	require.ElementsMatch(n.t, sortedIDs(n.verdicts.refused), refused)
}

// pageOf is how much is asked for at once, so that there are several pages.
const pageOf = 2

func lastOf(ids []codec.DeltaID) (last codec.DeltaID) {
	if len(ids) > 0 {
		last = ids[len(ids)-1]
	}
	return last
}
