package namespace_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// bystander is a node of one of the cast that takes the ops of several namespaces, and
// knows nothing of what it should answer.
type bystander struct {
	t     require.TestingT
	db    engine.Engine
	store *namespace.Store
}

func newBystander(t require.TestingT, name string, forges ...*forge) *bystander {
	n := &bystander{t: t, db: newMem()}
	var b engine.Batch
	for _, f := range forges {
		engine.Put(&b, keys.NamespaceIdentity{Namespace: f.ns}, codec.NamespaceIdentityValue{PublicKey: is(name), PrivateKey: who(name)})
	}
	require.NoError(t, n.db.Apply(&b))
	n.open()
	return n
}

func (n *bystander) open() {
	var err error
	n.store, err = namespace.Open(n.db, namespace.Options{MaxForks: 1000, MaxSignerHeads: 1000})
	require.NoError(n.t, err)
}

func (n *bystander) close() {
	require.NoError(n.t, n.store.Close())
	require.NoError(n.t, n.db.Close())
}

func (n *bystander) give(ops ...*namespace.Op) {
	for _, op := range ops {
		n.giveWire(bytesOf(n.t, op))
	}
}

func (n *bystander) giveWire(wire []byte) namespace.Answer {
	answer, err := n.store.Apply(context.Background(), wire)
	require.NoError(n.t, err)
	return answer
}

// shared returns the rows that are a function of the ops: of Group all but the log, which
// is in the order of arrival, the counters of contexts, and the claims on them.
func (n *bystander) shared() map[string]string {
	rows := map[string]string{}
	for _, col := range []column.Column{column.Group, column.Config, column.Generic} {
		it, err := n.db.Iterate(col, engine.Range{})
		require.NoError(n.t, err)
		for it.Next() {
			if col == column.Group && it.Key()[0] == 0x30 || col == column.Generic && string(it.Key()[:8]) != "gov-home" {
				continue
			}
			rows[fmt.Sprintf("%s %x", col, it.Key())] = fmt.Sprintf("%x", it.Value())
		}
		require.NoError(n.t, it.Err())
		require.NoError(n.t, it.Close())
	}
	return rows
}

func (n *bystander) requireSound(forges ...*forge) {
	for _, f := range forges {
		found, err := n.store.Verify(context.Background(), f.ns)
		require.NoError(n.t, err)
		require.Empty(n.t, damage(found))
	}
}

func (n *bystander) home(c codec.ContextID) (g codec.GroupID) {
	g, _, err := n.store.Resolve(c)
	if err != nil {
		require.ErrorIs(n.t, err, namespace.ErrNoContext)
	}
	return g
}

func (n *bystander) verdict(f *forge, op *namespace.Op) string {
	info, err := n.store.Op(f.ns, op.ID)
	require.NoError(n.t, err)
	return info.Verdict.String()
}

// roomKey is the key of a context, and room its id.
func roomKey(i int) codec.Secret { return who(fmt.Sprint("room ", i)) }

func room(i int) codec.ContextID { return codec.ContextID(group.IdentityOf(roomKey(i))) }

func placedIn(i int, ns, g codec.GroupID, number uint64) codec.GroupOp {
	return codec.GroupOp{Kind: codec.OpContextPlaced, ContextID: room(i), Number: number, Placement: group.SignPlacement(ns, g, number, roomKey(i))}
}

func registered(c codec.ContextID) codec.GroupOp {
	return codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: c}
}

// signature is what the key of a context has signed.
type signature struct {
	room   int
	ns, g  codec.GroupID
	number uint64
}

// contend draws ops of two namespaces about the same contexts: registrations without a
// signature, placements, replays of placements elsewhere, and what frees a context; and
// what must be refused, about groups of the other one.
func contend(t *rapid.T, forges []*forge, signed map[signature]bool, most int) {
	if rapid.IntRange(0, 2).Draw(t, "both begin") == 0 { // with a context that nobody has signed for
		for _, f := range forges {
			f.in(f.ns, "Z", registered(room(1)), f.drawParents(t)...)
		}
	}
	for range rapid.IntRange(1, most).Draw(t, "ops") {
		f := rapid.SampledFrom(forges).Draw(t, "namespace")
		g := rapid.SampledFrom([]codec.GroupID{f.ns, f.sub}).Draw(t, "group")
		name := rapid.SampledFrom([]string{"Z", "K", "L", "M"}).Draw(t, "signer")
		i, number := rapid.IntRange(0, 1).Draw(t, "room"), rapid.Uint64Range(1, 3).Draw(t, "number")
		c, parents := room(i), f.drawParents(t)
		if rapid.IntRange(0, 5).Draw(t, "no key") == 0 {
			c = codec.ContextID{} // whose id nobody has the key of
		}
		var body codec.GroupOp
		switch rapid.IntRange(0, 10).Draw(t, "what") {
		case 0, 1:
			body = registered(c)
		case 2, 3, 4:
			body = placedIn(i, f.ns, g, number)
			signed[signature{i, f.ns, g, number}] = true
		case 5: // a signature for another group, of another namespace, or of another number
			from := rapid.SampledFrom(forges).Draw(t, "from")
			body = placedIn(i, from.ns, rapid.SampledFrom([]codec.GroupID{from.ns, from.sub}).Draw(t, "of"), number)
			body.Number += rapid.Uint64Range(0, 1).Draw(t, "more")
			if group.VerifyPlacement(f.ns, g, &body) == nil {
				signed[signature{i, f.ns, g, body.Number}] = true
			}
		case 6:
			body = codec.GroupOp{Kind: codec.OpContextDetached, ContextID: c}
		case 7:
			body = rapid.SampledFrom([]codec.GroupOp{removed("K"), removed("L"), added("M", codec.Admin)}).Draw(t, "member")
		case 8:
			body = codec.GroupOp{Kind: codec.OpContextMigrated, ContextID: c, Method: "m"}
		case 9: // about a group of the other one
			of := forges[0]
			if of == f {
				of = forges[1]
			}
			what := rapid.SampledFrom(slices.Sorted(maps.Keys(trespasses))).Draw(t, "trespass")
			require.Nil(t, trespasses[what](f, of, name, parents...), what)
			continue
		default:
			f.root(name, codec.RootOp{Kind: codec.RootGroupDeleted, GroupID: f.sub}, parents...)
			continue
		}
		f.in(g, name, body, parents...)
	}
}

// Two namespaces that contend for the same contexts, with everything that a hostile member
// can say: nodes that have the same ops end in the same rows, whichever came first,
// whenever they were restarted, and whether they were offered what is to be refused or
// not; nothing is found wrong with them, and a context that its
// key has placed somewhere is in no group that the key has not signed for.
func TestContextsOfTwoNamespacesConverge(t *testing.T) {
	var contested, homeless, moved int
	enginetest.Check(t, 60, func(t *rapid.T) {
		forges := []*forge{openingOf(t, 1), openingOf(t, 2)}
		signed := map[signature]bool{}
		contend(t, forges, signed, 16)
		first := newBystander(t, "K", forges...)
		defer first.close()
		var wires [][]byte
		for _, f := range forges {
			first.give(f.ops...)
			for _, op := range f.ops {
				wires = append(wires, bytesOf(t, op))
			}
			for _, bad := range f.refused { // which first is spared
				wires = append(wires, bad.bytes)
			}
		}
		second := newBystander(t, "K", forges...)
		defer second.close()
		for i, wire := range rapid.Permutation(wires).Draw(t, "order") {
			second.giveWire(wire)
			if rapid.IntRange(0, 15).Draw(t, "restart") == 0 {
				require.NoError(t, second.store.Close())
				second.open()
			}
			if i%8 == 0 {
				second.requireClaimed(t)
			}
		}
		require.Equal(t, first.shared(), second.shared())
		for _, n := range []*bystander{first, second} {
			n.requireSound(forges...)
		}
		for i := range 2 {
			claims, err := namespace.Claims(first.db, room(i))
			require.NoError(t, err)
			home, ok := group.Home(claims)
			require.Equal(t, home.Group, first.home(room(i)))
			if len(claims) > 1 {
				contested++
			}
			if len(claims) > 0 && !ok {
				homeless++
			}
			for _, c := range claims {
				require.GreaterOrEqual(t, home.Number, c.Number)
			}
			if home.Number == 0 {
				continue
			}
			_, ns, err := first.store.Resolve(room(i))
			require.NoError(t, err)
			require.True(t, signed[signature{i, ns, home.Group, home.Number}], "nobody has signed for that")
			if len(claims) > 1 {
				moved++
			}
		}
	})
	if enginetest.Scale(60) >= 60 {
		require.NotZero(t, contested)
		require.NotZero(t, homeless)
		require.NotZero(t, moved)
	}
}

// requireClaimed demands that at any time the groups of contexts are what the claims that
// are here make of them.
func (n *bystander) requireClaimed(t require.TestingT) {
	for _, c := range []codec.ContextID{room(0), room(1), {}} {
		claims, err := namespace.Claims(n.db, c)
		require.NoError(t, err)
		home, ok := group.Home(claims)
		require.Equal(t, home.Group, n.home(c))
		config, err := engine.Get(n.db, keys.ContextConfig{Context: c})
		if !ok {
			require.ErrorIs(t, err, engine.ErrNotFound)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, home.Config, config)
	}
}

// Of two namespaces that register a context of which nobody has signed anything neither
// has it; where its key has signed for one, that one has it, and keeps it.
func TestContextIsNotForTheTaking(t *testing.T) {
	ours, theirs := openingOf(t, 1), openingOf(t, 2)
	legacy := codec.ContextID{1}
	our := ours.op("Z", registered(legacy))
	taking := []*namespace.Op{theirs.op("Z", registered(legacy)), theirs.op("Z", registered(room(0))),
		theirs.op("Z", placedIn(0, ours.ns, ours.sub, 9)), theirs.in(theirs.sub, "Z", placedIn(0, ours.ns, ours.sub, 9))}
	placed := ours.in(ours.sub, "Z", placedIn(0, ours.ns, ours.sub, 9))
	given := theirs.op("Z", codec.GroupOp{Kind: codec.OpContextDetached, ContextID: legacy})

	for _, late := range []bool{false, true} {
		n := newBystander(t, "Z", ours, theirs)
		defer n.close()
		n.give(ours.ops...)
		if late {
			n.give(theirs.ops[:len(theirs.ops)-1]...)
		} else {
			other := newBystander(t, "Z", ours, theirs)
			defer other.close()
			other.give(theirs.ops[:len(theirs.ops)-1]...)
			require.Equal(t, theirs.ns, other.home(room(0)), "as long as nothing else is known")
			other.give(ours.ops...)
			n = other
		}
		require.Equal(t, ours.sub, n.home(room(0)))
		require.Zero(t, n.home(legacy), "nobody can say whose it is")
		require.Equal(t, "effective", n.verdict(ours, placed))
		require.Equal(t, "effective", n.verdict(ours, our))
		for _, op := range taking[2:] {
			require.Equal(t, "void: not signed by the context's creator", n.verdict(theirs, op))
		}
		n.requireSound(ours, theirs)
		n.give(given)
		require.Equal(t, ours.ns, n.home(legacy), "the other has given it up")
		n.requireSound(ours, theirs)
	}
}

// A store of before has no claims: all namespaces are looked at again when one is used.
func TestStoreWithoutClaimsGetsThem(t *testing.T) {
	ours, theirs := openingOf(t, 1), openingOf(t, 2)
	ours.op("Z", registered(codec.ContextID{1}))
	ours.op("Z", registered(codec.ContextID{2}))
	theirs.op("Z", registered(codec.ContextID{1}))
	n := newBystander(t, "Z", ours, theirs)
	defer n.close()
	n.give(ours.ops...)
	n.give(theirs.ops...)

	require.NoError(t, n.store.Close())
	var b engine.Batch
	b.DeleteRange(column.Generic, []byte("gov-home"), []byte("gov-homf"))
	b.DeleteRange(column.Generic, []byte("gov-rules"), []byte("gov-rulet"))
	engine.Put(&b, keys.ContextGroupRef{Context: codec.ContextID{1}}, codec.GroupRefValue{GroupID: theirs.ns})
	require.NoError(t, n.db.Apply(&b))
	n.open()
	n.requireSound(ours)
	require.Zero(t, n.home(codec.ContextID{1}))
	n.give(ours.op("Z", named("more")))
	n.requireSound(ours, theirs)

	always := newBystander(t, "Z", ours, theirs)
	defer always.close()
	always.give(ours.ops...)
	always.give(theirs.ops...)
	require.Equal(t, always.shared(), n.shared())
}

// Namespaces are taken in beside each other, and neither misses what the other writes.
func TestContextsOfNamespacesTakenInSideBySide(t *testing.T) {
	forges := []*forge{openingOf(t, 1), openingOf(t, 2), openingOf(t, 3)}
	for i := range 12 {
		for k, f := range forges {
			f.op("Z", placedIn(i%3, f.ns, f.ns, uint64((i*7+k*5)%11+1)))
			f.op("Z", registered(codec.ContextID{byte(i + 1)}))
			if (i+k)%4 == 0 {
				f.op("Z", codec.GroupOp{Kind: codec.OpContextDetached, ContextID: room(i % 3)})
			}
		}
	}
	one := newBystander(t, "Z", forges...)
	defer one.close()
	many := newBystander(t, "Z", forges...)
	defer many.close()
	done := make(chan error, len(forges))
	for _, f := range forges {
		one.give(f.ops...)
		var wires [][]byte
		for _, op := range f.ops {
			wires = append(wires, bytesOf(t, op))
		}
		go func() {
			for _, wire := range wires {
				if _, err := many.store.Apply(context.Background(), wire); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range forges {
		require.NoError(t, <-done)
	}
	require.Equal(t, one.shared(), many.shared())
	many.requireSound(forges...)
}
