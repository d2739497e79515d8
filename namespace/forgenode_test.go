package namespace_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// witness is a node that is given ops, with what it should answer and hold.
type witness struct {
	t     require.TestingT
	forge *forge
	name  string
	ns    codec.GroupID
	db    engine.Engine
	store *namespace.Store
	node  governor // by which it is given ops, and asked for its own: store, or a daemon of it
	stop  func()   // ends the daemon; nil: there is none

	has     map[codec.OpID]*namespace.Op
	waiting map[codec.OpID]*namespace.Op
	log     map[string]string // 0x30 as it was when last looked at

	gathered namespace.Keyring // from so many ops
	from     int
	own      namespace.Keyring // keys that this node made

	now     func() time.Time
	forgets bool // what it can't open
}

// newWitness opens the node of one of the cast on db.
func newWitness(t require.TestingT, f *forge, name string, db engine.Engine) *witness {
	w := &witness{t: t, forge: f, name: name, ns: f.ns, db: db, has: map[codec.OpID]*namespace.Op{}, waiting: map[codec.OpID]*namespace.Op{},
		own: namespace.Keyring{}}
	w.identify()
	w.open()
	return w
}

// holding returns the node of one of the cast with all ops of f.
func (f *forge) holding(t require.TestingT, name string) *witness {
	w := newWitness(t, f, name, newMem())
	for _, op := range f.ops {
		w.give(op)
	}
	return w
}

// heads returns the heads of the namespace, as they are stored.
func (w *witness) heads() []codec.OpID {
	v, err := engine.Get(w.db, keys.NamespaceGovHead{Namespace: w.ns})
	require.NoError(w.t, err)
	return v.DagHeads
}

// identify gives the node the identity of its name.
func (w *witness) identify() {
	var b engine.Batch
	engine.Put(&b, keys.NamespaceIdentity{Namespace: w.ns}, codec.NamespaceIdentityValue{PublicKey: is(w.name), PrivateKey: who(w.name)})
	require.NoError(w.t, w.db.Apply(&b))
}

func (w *witness) open() {
	var err error
	w.store, err = namespace.Open(w.db, namespace.Options{Now: w.now, ForgetPayloads: w.forgets, MaxForks: 1000, MaxSignerHeads: 1000})
	require.NoError(w.t, err)
	w.node = w.store
}

func (w *witness) restart() {
	require.NoError(w.t, w.store.Close())
	w.open()
}

func (w *witness) close() {
	if w.stop != nil {
		w.stop()
	}
	require.NoError(w.t, w.store.Close())
	require.NoError(w.t, w.db.Close())
}

// give applies an op and demands the answer that is due.
func (w *witness) give(op *namespace.Op) namespace.Answer {
	answer, err := w.node.Apply(context.Background(), bytesOf(w.t, op))
	require.NoError(w.t, err)
	require.Equal(w.t, w.due(op), answer.Kind, answer.Refusal)
	require.Equal(w.t, op.ID, answer.ID)
	if answer.Kind == namespace.Stored || answer.Kind == namespace.Pending {
		w.note(op)
	}
	return answer
}

func (w *witness) due(op *namespace.Op) namespace.AnswerKind {
	switch {
	case w.has[op.ID] != nil:
		return namespace.Duplicate
	case w.ready(op):
		return namespace.Stored
	default:
		return namespace.Pending // also where it waits already
	}
}

// giveBad applies what must be refused: at once, or where that is a matter of its
// ancestors, as soon as they are there.
func (w *witness) giveBad(bad refused) {
	answer, err := w.store.Apply(context.Background(), bad.bytes)
	require.NoError(w.t, err)
	if bad.op != nil && !w.ready(bad.op) {
		require.Equal(w.t, namespace.Pending, answer.Kind, answer.Refusal)
		return
	}
	require.Equal(w.t, namespace.Refused, answer.Kind)
	require.Equal(w.t, bad.reason, answer.Refusal.Reason, answer.Refusal.Detail)
}

func (w *witness) ready(op *namespace.Op) bool {
	return !slices.ContainsFunc(op.Parents, func(p codec.OpID) bool { return w.has[p] == nil })
}

// note takes down that op has come, and which waiting ones are there with it.
func (w *witness) note(op *namespace.Op) {
	w.waiting[op.ID] = op
	for more := true; more; {
		more = false
		for id, o := range w.waiting {
			if w.ready(o) {
				w.has[id] = o
				delete(w.waiting, id)
				more = true
			}
		}
	}
}

// ring returns the keys that can be had from the ops that are here.
func (w *witness) ring() namespace.Keyring {
	if w.forgets {
		could := namespace.Keyring{}
		could.Gather(w.ns, slices.Collect(maps.Values(w.has)), who(w.name))
		return w.heldKeys(could)
	}
	if w.from != len(w.has) {
		w.gathered, w.from = cloneMap(w.own), len(w.has)
		w.gathered.Gather(w.ns, slices.Collect(maps.Values(w.has)), who(w.name))
	}
	return w.gathered
}

// result is what the ops that are here amount to.
func (w *witness) result() (*group.Result, namespace.Keyring) {
	ring := w.ring()
	var ops []group.Op
	for _, op := range w.has {
		ops = append(ops, w.read(op, ring).op)
	}
	r, err := group.Evaluate(ops, is(w.name))
	require.NoError(w.t, err)
	return r, ring
}

// check demands that the rows are those of the definition, to the byte, but for the
// order of the log.
func (w *witness) check() *group.Result {
	if len(w.has) == 0 {
		return nil
	}
	result, ring := w.result()
	want := map[string]string{}
	for _, row := range result.Rows {
		want[string(row.Key)] = string(row.Value)
	}
	w.wantSecrets(want, ring)
	got, log := w.column()
	w.requireSame(want, got)
	w.checkLog(log, ring)
	for c, claim := range result.Claims {
		stored, err := engine.Get(w.db, keys.ContextConfig{Context: c})
		require.NoError(w.t, err)
		require.Equal(w.t, claim.Config, stored)
	}
	found, err := w.store.Equivocations(w.ns, group.Equivocation{}, 0)
	require.NoError(w.t, err)
	require.Equal(w.t, result.Equivocations, found)
	return result
}

// wantSecrets adds the ops as they came, the keys and the identity.
func (w *witness) wantSecrets(want map[string]string, ring namespace.Keyring) {
	for id, op := range w.has {
		form := codec.StoredNamespaceOp{Kind: codec.StoredSigned, Signed: *op.Signed}
		if w.lost(id) {
			form = op.Skeleton()
		}
		stored, err := form.AppendBinary(nil)
		require.NoError(w.t, err)
		addRow(w.t, want, keys.NamespaceGovOp{Namespace: w.ns, Delta: id}, codec.NamespaceGovOpValue{SkeletonBytes: stored})
	}
	for k, key := range ring {
		addRow(w.t, want, keys.GroupKeyEntry{Group: k.GroupID, Key: k.KeyID}, codec.GroupKeyValue{Key: key})
	}
	addRow(w.t, want, keys.NamespaceIdentity{Namespace: w.ns}, codec.NamespaceIdentityValue{PublicKey: is(w.name), PrivateKey: who(w.name)})
}

func addRow[K keys.Key[K, V], V codec.Value[V]](t require.TestingT, rows map[string]string, key K, value V) {
	k, err := key.AppendBinary(nil)
	require.NoError(t, err)
	v, err := value.AppendBinary(nil)
	require.NoError(t, err)
	rows[string(k)] = string(v)
}

// column returns the Group column, the log apart.
func (w *witness) column() (rows, log map[string]string) {
	rows, log = map[string]string{}, map[string]string{}
	it, err := w.db.Iterate(column.Group, engine.Range{})
	require.NoError(w.t, err)
	defer it.Close()
	for it.Next() {
		if key := string(it.Key()); key[0] == 0x30 {
			log[key] = string(it.Value())
		} else {
			rows[key] = string(it.Value())
		}
	}
	require.NoError(w.t, it.Err())
	return rows, log
}

func (w *witness) requireSame(want, got map[string]string) {
	if maps.Equal(want, got) {
		return
	}
	for key, v := range want {
		if got[key] != v {
			require.Fail(w.t, "a row is not what it should be", "%s of %d ops: %x is %x, not %x", w.name, len(w.has), key, got[key], v)
		}
	}
	for key, v := range got {
		_, due := want[key]
		require.True(w.t, due, "%s: row %x, %x is due to nothing", w.name, key, v)
	}
}

// checkLog demands of the log every readable op once, without gaps, and what was there
// before as it was.
func (w *witness) checkLog(log map[string]string, ring namespace.Keyring) {
	want, got := map[string]int{}, map[string]int{}
	for _, op := range w.has {
		if read := w.read(op, ring); read.op.Body != nil {
			want[string(op.GroupID[:])+string(read.plain)]++
		}
	}
	counts := map[codec.GroupID]uint64{}
	for _, key := range slices.Sorted(maps.Keys(log)) {
		k, err := keys.GroupOpLog{}.Parse([]byte(key))
		require.NoError(w.t, err)
		counts[k.Group]++
		require.Equal(w.t, keys.NewSeq(counts[k.Group]), k.Seq, "a gap in the log")
		v, err := codec.OpLogValue{}.Decode([]byte(log[key]))
		require.NoError(w.t, err)
		got[string(k.Group[:])+string(v.Op)]++
	}
	require.True(w.t, maps.Equal(want, got), "%s: the log has %d ops, %d are due", w.name, len(log), len(want))
	for key, v := range w.log {
		require.Equal(w.t, v, log[key], "an entry of the log has changed")
	}
	w.log = log
}

// newMem returns an engine in memory.
func newMem() engine.Engine { return mem.New() }

func (w *witness) String() string { return fmt.Sprintf("%s with %d ops", w.name, len(w.has)) }
