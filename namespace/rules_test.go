package namespace_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// old is a store of commit 2c11858, whose rules were the first: a line for each row. Its
// two namespaces contend for a context, and have an Admin who left while a lower one
// removed her on top of what she did beside it; a group that was created twice, the second
// time lower, and given away on top of that; and placements of contexts, which that build
// could not read.
type old struct {
	*bystander
	namespaces []codec.GroupID
	ops        map[codec.GroupID][]codec.OpID
	wires      [][]byte // of all ops, as they came
}

func newOld(t *testing.T) *old {
	f, err := os.Open("testdata/rules1.rows.gz")
	require.NoError(t, err)
	defer f.Close()
	text, err := gzip.NewReader(f)
	require.NoError(t, err)
	o := &old{bystander: &bystander{t: t, db: newMem()}, ops: map[codec.GroupID][]codec.OpID{}}
	var b engine.Batch
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		words := strings.Split(lines.Text(), " ")
		col, ok := column.Parse(words[0])
		require.True(t, ok)
		key, err := hex.DecodeString(words[1])
		require.NoError(t, err)
		value, err := hex.DecodeString(words[2])
		require.NoError(t, err)
		b.Put(col, key, value)
	}
	require.NoError(t, lines.Err())
	require.NoError(t, o.db.Apply(&b))
	for e, err := range engine.Scan(o.db, keys.Prefix[keys.NamespaceGovHead]{}) {
		require.NoError(t, err)
		ns := e.Key.Namespace
		o.namespaces = append(o.namespaces, ns)
		it, err := o.db.Iterate(column.Generic, engine.Prefixed(append([]byte("gov-op\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), ns[:]...)))
		require.NoError(t, err)
		for it.Next() {
			id := codec.OpID(it.Value())
			row, err := engine.Get(o.db, keys.NamespaceGovOp{Namespace: ns, Delta: id})
			require.NoError(t, err)
			op, err := namespace.ParseOp(row.SkeletonBytes)
			require.NoError(t, err)
			o.ops[ns], o.wires = append(o.ops[ns], id), append(o.wires, bytesOf(t, op))
		}
		require.NoError(t, it.Close())
	}
	require.Len(t, o.namespaces, 2)
	return o
}

// fresh returns a node that takes the same ops by the rules of this build.
func (o *old) fresh(t *testing.T) *bystander {
	n := &bystander{t: t, db: newMem()}
	var b engine.Batch
	for e, err := range engine.Scan(o.db, keys.Prefix[keys.NamespaceIdentity]{}) {
		require.NoError(t, err)
		engine.Put(&b, e.Key, e.Value)
	}
	require.NoError(t, n.db.Apply(&b))
	n.open()
	for _, wire := range o.wires {
		_, err := n.store.Apply(context.Background(), wire)
		require.NoError(t, err)
	}
	return n
}

// rulesKey is the key of the row that says by which rules the rows of a namespace are.
func rulesKey(ns codec.GroupID) []byte {
	return append([]byte("gov-rules\x00\x00\x00\x00\x00\x00\x00"), ns[:]...)
}

// requireNew demands that the store is what the rules of this build make of its ops.
func (o *old) requireNew(t *testing.T, want *bystander) {
	require.Equal(t, want.shared(), o.shared())
	for _, ns := range o.namespaces {
		found, err := o.store.Verify(context.Background(), ns)
		require.NoError(t, err)
		require.Empty(t, found)
		for _, id := range o.ops[ns] {
			due, err := want.store.Op(ns, id)
			require.NoError(t, err)
			is, err := o.store.Op(ns, id)
			require.NoError(t, err)
			require.Equal(t, due.Verdict, is.Verdict)
			require.Equal(t, due.Op, is.Op)
		}
	}
}

func TestRowsOfOlderRulesAreMadeAnew(t *testing.T) {
	for name, use := range map[string]func(o *old) error{
		"at a start": func(o *old) error { return o.store.Refold(context.Background()) },
		"where they are used": func(o *old) (err error) {
			for _, ns := range o.namespaces {
				_, heads := o.store.Heads(t.Context(), ns)
				err = errors.Join(err, heads)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOld(t)
			want := o.fresh(t)
			defer want.close()
			require.NotEqual(t, want.shared(), o.shared())
			o.open()
			require.NoError(t, use(o))
			o.requireNew(t, want)
			require.NoError(t, o.store.Close())

			before := everything(t, o.db)
			counted := faulty.New(o.db, faulty.Options{})
			again, err := namespace.Open(counted, namespace.Options{})
			require.NoError(t, err)
			require.NoError(t, again.Refold(context.Background()))
			for _, ns := range o.namespaces {
				_, err := again.Heads(t.Context(), ns)
				require.NoError(t, err)
			}
			require.NoError(t, again.Close())
			require.Zero(t, counted.Count(faulty.Writes), "they are by the rules of this build")
			require.Equal(t, before, everything(t, o.db))
		})
	}
}

// Rules 3 had an Admin out of the group below whom one who ranks below had removed, and out of the
// namespace once somebody above took the role away: the rows are made.
func TestAMembershipThatRules3TookIsGivenBack(t *testing.T) {
	f := openingOf(t, 1)
	require.NotNil(t, f.op("L", removed("K")))
	require.NotNil(t, f.op("Z", codec.GroupOp{Kind: codec.OpMemberRoleSet, Member: is("K"), Role: codec.Member}))
	n := newBystander(t, "Z", f)
	defer func() { n.close() }()
	n.give(f.ops...)
	n.requireSound(f)
	want := n.shared()
	require.NoError(t, n.store.Close())

	var b engine.Batch
	engine.Delete(&b, keys.GroupMember{Group: f.ns, Identity: is("K")})
	engine.Delete(&b, keys.GroupMember{Group: f.sub, Identity: is("K")})
	b.Put(column.Generic, rulesKey(f.ns), binary.LittleEndian.AppendUint32(nil, 3))
	require.NoError(t, n.db.Apply(&b))
	require.NotEqual(t, want, n.shared())
	n.open()
	require.NoError(t, n.store.Refold(context.Background()))
	require.Equal(t, want, n.shared())
	n.requireSound(f)
}

// Whatever call of the engine the process ends at, or fails, the next start goes on.
func TestMakingRowsAnewDiesAtAnyCall(t *testing.T) {
	enginetest.SkipUnderRace(t, enginetest.OneByOne)
	from := newOld(t)
	want := from.fresh(t)
	defer want.close()
	for calls, step := range map[faulty.Calls]int{faulty.Writes: 1, faulty.Reads: 7} { // what reads has little that writes had not
		for _, fault := range []faulty.Fault{faulty.Fail, faulty.CrashBefore, faulty.CrashAfter} {
			tripped := 0
			for at := step; ; at += step { // the first read counts what waits, which a store does without
				o := *from
				broken := faulty.New(cloned(t, from.db), faulty.Options{At: at, Calls: calls, Fault: fault})
				o.bystander = &bystander{t: t, db: broken}
				o.open()
				o.store.SetMost(3) // rows of a batch
				err := o.store.Refold(context.Background())
				if fault == faulty.Fail && broken.Tripped() {
					require.NoError(t, o.store.Refold(context.Background()), "and the store is at work")
				}
				_ = o.store.Close()
				o.db = broken.Restart()
				o.open()
				require.Equal(t, broken.Tripped(), err != nil)
				require.NoError(t, o.store.Refold(context.Background()))
				o.requireNew(t, want)
				o.close()
				if !broken.Tripped() {
					break
				}
				tripped++
			}
			require.Greater(t, tripped, 4, "it takes several batches")
		}
	}
}

// What newer rules have made is not read, let alone written; other namespaces are.
func TestRowsOfNewerRulesAreRefused(t *testing.T) {
	ours, theirs := openingOf(t, 1), openingOf(t, 2)
	n := newBystander(t, "Z", ours, theirs)
	defer n.close()
	n.give(ours.ops...)
	n.give(theirs.ops...)
	require.NoError(t, n.store.Close())
	var b engine.Batch
	b.Put(column.Generic, rulesKey(ours.ns), binary.LittleEndian.AppendUint32(nil, namespace.Rules+1))
	require.NoError(t, n.db.Apply(&b))
	before := everything(t, n.db)
	n.open()
	view, err := namespace.View(n.db, namespace.Options{})
	require.NoError(t, err)
	defer view.Close()
	for _, s := range []*namespace.Store{n.store, view} {
		_, errs := s.Heads(t.Context(), ours.ns)
		_, verified := s.Verify(context.Background(), ours.ns)
		for _, err := range []error{errs, verified} {
			require.ErrorIs(t, err, namespace.ErrRules)
			require.ErrorContains(t, err, "those of "+ours.ns.String()+" were made by rules 5, and this build has rules 4: use a newer one")
		}
	}
	require.ErrorIs(t, n.store.Refold(context.Background()), namespace.ErrRules)
	more := ours.op("Z", named("more"))
	_, err = n.store.Apply(context.Background(), bytesOf(t, more))
	require.ErrorIs(t, err, namespace.ErrRules)
	require.Equal(t, before, everything(t, n.db))
	n.give(theirs.op("Z", named("more")))
	n.requireSound(theirs)
}

// Where nothing can be written ops are judged by the rules of this build, and nothing is
// said of the rows.
func TestRowsOfOlderRulesAreReadWhereNothingIsWritten(t *testing.T) {
	o := newOld(t)
	want := o.fresh(t)
	defer want.close()
	before := everything(t, o.db)
	s, err := namespace.Open(engine.ReadOnly(o.db), namespace.Options{})
	require.NoError(t, err)
	defer s.Close()
	view, err := namespace.View(o.db, namespace.Options{})
	require.NoError(t, err)
	defer view.Close()
	for _, ns := range o.namespaces {
		for _, s := range []*namespace.Store{s, view} {
			_, err := s.Verify(context.Background(), ns)
			require.ErrorIs(t, err, namespace.ErrRules)
			require.ErrorContains(t, err, "were made by rules 1, and this build has rules 4: serve the store once")
			heads, err := s.Heads(t.Context(), ns)
			require.NoError(t, err)
			due, err := want.store.Heads(t.Context(), ns)
			require.NoError(t, err)
			require.Equal(t, due, heads)
		}
	}
	require.Equal(t, before, everything(t, o.db))
	require.NoError(t, o.db.Close())
}

// Rows of a namespace whose ops are gone are left for those who look into what has become
// of them.
func TestRowsWithoutOpsAreNotMadeAnew(t *testing.T) {
	o := newOld(t)
	var b engine.Batch
	b.DeleteRange(column.Generic, []byte("gov-op"), []byte("gov-oq"))
	require.NoError(t, o.db.Apply(&b))
	before := everything(t, o.db)
	o.open()
	defer o.close()
	require.NoError(t, o.store.Refold(context.Background()))
	require.Equal(t, before, everything(t, o.db))
}

// A row of the rules that is none is damage.
func TestDamagedRulesAreDamage(t *testing.T) {
	f := openingOf(t, 1)
	n := newBystander(t, "Z", f)
	defer n.close()
	n.give(f.ops...)
	require.NoError(t, n.store.Close())
	var b engine.Batch
	b.Put(column.Generic, rulesKey(f.ns), []byte{2, 0})
	require.NoError(t, n.db.Apply(&b))
	n.open()
	_, err := n.store.Heads(t.Context(), f.ns)
	require.ErrorIs(t, err, engine.ErrCorrupt)
	told := 0
	view, err := namespace.View(n.db, namespace.Options{Damaged: func(column.Column, []byte, error) error { told++; return nil }})
	require.NoError(t, err)
	defer view.Close()
	heads, err := view.Heads(t.Context(), f.ns)
	require.NoError(t, err)
	require.Equal(t, f.heads(), heads)
	require.Equal(t, 1, told)
}
