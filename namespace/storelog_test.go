package namespace

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
)

// pair is the store of Z, who has created a namespace, and that of K, an Admin of it.
func pairOf(t testing.TB) (z, k *Store, ns codec.GroupID) {
	z, k = newStore(t, 1), newStore(t, 2)
	ns, wire := created(t, z)
	imported(t, k, ns, "K")
	wire = append(wire, proposed(t, z, ns, ns, add("K", codec.Admin)).Wire...)
	applied(t, k, wire...)
	return z, k, ns
}

// exchange gives each of two stores what only the other has.
func exchange(t testing.TB, ns codec.GroupID, a, b *Store) {
	for _, way := range [][2]*Store{{a, b}, {b, a}} {
		require.NoError(t, way[1].FollowNamespace(ns))
		heads, err := way[1].Heads(t.Context(), ns)
		require.NoError(t, err)
		for sent, err := range way[0].OpsSince(bg, ns, heads, 0) {
			require.NoError(t, err)
			applied(t, way[1], sent.Wire)
		}
	}
}

func ops(t testing.TB, s *Store, g codec.GroupID, w Window) (entries []Entry) {
	for e, err := range s.Ops(bg, g, w) {
		require.NoError(t, err)
		entries = append(entries, e)
	}
	return entries
}

func TestOpsAreReadBothWays(t *testing.T) {
	z, k, ns := pairOf(t)
	for range 5 {
		proposed(t, z, ns, ns, call("a"))
	}
	exchange(t, ns, z, k)
	for _, s := range []*Store{z, k} {
		all := ops(t, s, ns, Window{})
		require.Len(t, all, 8)
		for i, e := range all {
			require.Equal(t, uint64(i+1), e.Seq)
			info, err := s.Op(ns, e.ID)
			require.NoError(t, err)
			require.Equal(t, e.Op.Op, *info.Body)
			require.Equal(t, e.Verdict, info.Verdict)
		}
		back := ops(t, s, ns, Window{Reverse: true})
		for i := range back {
			require.Equal(t, all[len(all)-1-i], back[i])
		}
		require.Equal(t, all[2:4], ops(t, s, ns, Window{From: 3, Limit: 2}))
		require.Equal(t, []Entry{all[4], all[3]}, ops(t, s, ns, Window{From: 5, Limit: 2, Reverse: true}))
	}
	for _, err := range z.Ops(bg, codec.GroupID{9}, Window{}) {
		require.ErrorIs(t, err, ErrNoGroup)
	}
}

// K removes L while L acts: on K's node L's op comes late and is void; on L's it was
// effective, and a follower is told.
// A row of a log that is no entry is damage, wherever it is broken, and no entry of another
// number; who reads around damage is told, and goes on.
func TestADamagedLogIsNotReadAsAnother(t *testing.T) {
	z, _, ns := pairOf(t)
	for _, name := range []string{"a", "b"} {
		proposed(t, z, ns, ns, call(name))
	}
	all := ops(t, z, ns, Window{})
	require.Len(t, all, 5)
	rowOf := func(seq uint64) (key, value []byte) {
		key, err := keys.GroupOpLog{Group: ns, Seq: keys.NewSeq(seq)}.AppendBinary(nil)
		require.NoError(t, err)
		if value, err = z.db.Get(nil, column.Group, key); err != nil {
			require.ErrorIs(t, err, engine.ErrNotFound)
			return key, nil
		}
		return key, value
	}
	first, _ := rowOf(1)
	_, none := rowOf(0)
	require.Nil(t, none)
	before, _ := rowOf(0)
	behind, _ := rowOf(9)
	second, value := rowOf(2)
	for name, row := range map[string]struct{ key, value []byte }{
		"number 0":                 {before, value},
		"a number behind the last": {behind, value},
		"a key cut off":            {first[:len(first)-1], value},
		"a key too long":           {append(slices.Clone(second), 0), value},
		"nothing":                  {second, nil},
		"a length cut off":         {second, value[:3]},
		"a length alone":           {second, value[:4]},
		"an op cut off":            {second, value[:len(value)-1]},
		"an op too long":           {second, append(slices.Clone(value), 0)},
		"an op of no length":       {second, []byte{0, 0, 0, 0}},
		"an op of another length":  {second, append([]byte{value[0] + 1}, value[1:]...)},
	} {
		t.Run(name, func(t *testing.T) {
			was, err := z.db.Get(nil, column.Group, row.key)
			z.damage(t, func(b *engine.Batch) { b.Put(column.Group, row.key, row.value) })
			defer z.damage(t, func(b *engine.Batch) {
				if b.Put(column.Group, row.key, was); err != nil {
					b.Reset()
					b.Delete(column.Group, row.key)
				}
			})
			var failure error
			for e, err := range z.Ops(bg, ns, Window{}) {
				if failure = err; err == nil {
					require.Equal(t, all[e.Seq-1], e)
				}
			}
			require.ErrorIs(t, failure, engine.ErrCorrupt)
		})
	}
	require.Equal(t, all, ops(t, z, ns, Window{}))
}

// An entry whose op is gone is passed over by who reads around damage, and is not another
// op's; what is beside it is read.
func TestAnEntryWhoseOpIsGoneIsPassedOver(t *testing.T) {
	z, k, ns := pairOf(t)
	gone := proposed(t, z, ns, ns, call("a")).Answer.ID
	beside := proposed(t, k, ns, ns, call("b")).Answer.ID
	exchange(t, ns, z, k)
	all := ops(t, z, ns, Window{})
	require.Len(t, all, 5)
	require.Equal(t, []codec.OpID{gone, beside}, []codec.OpID{all[3].ID, all[4].ID})
	require.NoError(t, z.Close())
	z.damage(t, func(b *engine.Batch) { engine.Delete(b, keys.NamespaceGovOp{Namespace: ns, Delta: gone}) })
	var told [][]byte
	view, err := View(z.db, Options{Damaged: func(_ column.Column, key []byte, _ error) error {
		told = append(told, slices.Clone(key))
		return nil
	}})
	require.NoError(t, err)
	defer view.Close()
	left := ops(t, view, ns, Window{})
	require.Equal(t, []uint64{1, 2, 3, 5}, []uint64{left[0].Seq, left[1].Seq, left[2].Seq, left[3].Seq})
	require.Equal(t, beside, left[3].ID)
	entry, err := keys.GroupOpLog{Group: ns, Seq: keys.NewSeq(4)}.AppendBinary(nil)
	require.NoError(t, err)
	require.Contains(t, told, entry)
}

func TestFollowTellsOfEntriesAndVerdicts(t *testing.T) {
	z, k, ns := pairOf(t)
	ctx, cancel := context.WithTimeout(bg, time.Minute)
	defer cancel()
	events := make(chan Event)
	go func() {
		defer close(events)
		for e, err := range k.Follow(ctx, ns, 3, true) {
			if err != nil {
				return
			}
			events <- e
		}
	}()
	named := proposed(t, k, ns, ns, call("k was here"))
	e := <-events
	require.Equal(t, named.Answer.ID, e.Entry.ID)
	require.Equal(t, group.Effective, e.Entry.Verdict.Outcome)
	proposed(t, z, ns, ns, remove("K"))
	exchange(t, ns, z, k)
	e = <-events
	if e.Entry != nil { // the removal is the next op that K reads
		e = <-events
	}
	require.NotNil(t, e.Change)
	require.Equal(t, group.VerdictChange{Op: named.Answer.ID, Old: group.Verdict{Outcome: group.Effective},
		New: group.Verdict{Outcome: group.Void, Reason: group.Revoked}}, *e.Change)
	cancel()
	for range events {
	}
	requireSound(t, z, ns)
	requireSound(t, k, ns)

	voided, err := k.Voided(ns)
	require.NoError(t, err)
	require.Len(t, voided, 1)
	done, err := k.Reissue(bg, ns)
	require.NoError(t, err)
	require.ErrorIs(t, done[0].Err, ErrNotEffective)
	proposed(t, z, ns, ns, add("K", codec.Admin))
	exchange(t, ns, z, k)
	done, err = k.Reissue(bg, ns)
	require.NoError(t, err)
	require.Len(t, done, 1)
	require.NoError(t, done[0].Err)
	require.Equal(t, group.Effective, done[0].New.Answer.Verdict.Outcome)
	k = k.reopened(t, 4)
	voided, err = k.Voided(ns)
	require.NoError(t, err)
	require.Empty(t, voided)
	exchange(t, ns, z, k)
	requireSound(t, z, ns)
}

func TestInviteJoinAdmit(t *testing.T) {
	z, m := newStore(t, 1), newStore(t, 2)
	ns, wire := created(t, z)
	invitation, err := z.Invite(bg, Invite{GroupID: ns, Role: codec.Member, Expires: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	request, err := m.Join(bg, invitation)
	require.NoError(t, err)
	_, err = z.Admit(bg, request[1:])
	require.ErrorIs(t, err, ErrNotInvited)
	p, err := z.Admit(bg, request)
	require.NoError(t, err)
	require.Len(t, p.Wire, 2, "it comes with the key")
	applied(t, m, append(wire, p.Wire...)...)
	self, err := m.Identity(ns)
	require.NoError(t, err)
	proposed(t, m, ns, ns, codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: self, Name: codec.Some(codec.AliasName("m"))})
	exchange(t, ns, z, m)
	for _, s := range []*Store{z, m} {
		requireSound(t, s, ns)
	}
	_, err = z.Admit(bg, request)
	require.ErrorIs(t, err, ErrNotEffective, "it was used")

	old, err := z.Invite(bg, Invite{GroupID: ns, Expires: time.Now().Add(-time.Second)})
	require.NoError(t, err)
	request, err = m.Join(bg, old)
	require.NoError(t, err)
	_, err = z.Admit(bg, request)
	require.ErrorIs(t, err, ErrExpired)
	require.Regexp(t, `: at 20\d\d-[0-9-]+T[0-9:]+Z, and it is 20\d\d-[0-9-]+T[0-9:]+Z$`, err.Error(), "a person reads it")
	v, who, err := ParseRequest(request)
	require.NoError(t, err)
	require.Equal(t, ns, v.NamespaceID)
	require.Equal(t, self, who)
	_, _, err = ParseRequest(old)
	require.ErrorIs(t, err, ErrNotInvited, "an invitation is no request")
	_, err = m.Invite(bg, Invite{GroupID: ns, Expires: time.Now().Add(time.Hour)})
	require.ErrorIs(t, err, ErrNotEffective)
}

// K and Z remove each other's friends with a key each that the other's target has: what
// follows mends it, also by Rotate, once.
func TestRotateWhenDue(t *testing.T) {
	z, k, ns := pairOf(t)
	_, err := z.Rotate(bg, ns, false)
	require.ErrorIs(t, err, ErrNotDue)
	for _, name := range []string{"L", "M"} {
		proposed(t, z, ns, ns, add(name, codec.Member))
	}
	exchange(t, ns, z, k)
	proposed(t, z, ns, ns, remove("L"))
	proposed(t, k, ns, ns, remove("M"))
	exchange(t, ns, z, k)
	p, err := z.Rotate(bg, ns, false)
	require.NoError(t, err)
	require.Len(t, p.Keys, 1)
	info, err := z.Op(ns, p.Answer.ID)
	require.NoError(t, err)
	require.Equal(t, codec.GroupOp{Kind: codec.OpKeyRotated}, *info.Body, "what carries a rotation does nothing else")
	exchange(t, ns, z, k)
	for _, s := range []*Store{z, k.reopened(t, 7)} {
		_, err = s.Rotate(bg, ns, false)
		require.ErrorIs(t, err, ErrNotDue)
		found, err := s.Keys(ns)
		require.NoError(t, err)
		require.Len(t, found, 4)
		require.True(t, found[3].Current)
		require.Equal(t, p.Keys[0].KeyID, found[3].ID)
		require.Len(t, found[3].Holders, 2)
		requireSound(t, s, ns)
	}
}

// A node that is told to forget payloads keeps what it can't open as skeletons, and
// agrees on everything else; it sends them to nobody.
func TestForgottenPayloads(t *testing.T) {
	z, _, ns := pairOf(t)
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	s, err := Open(db, Options{ForgetPayloads: true})
	require.NoError(t, err)
	exchange(t, ns, z, s)
	heads, err := z.Heads(t.Context(), ns)
	require.NoError(t, err)
	for range 2 {
		got, err := s.Heads(t.Context(), ns)
		require.NoError(t, err)
		require.Equal(t, heads, got)
		requireSound(t, s, ns)
		n := 0
		for sent, err := range s.OpsSince(bg, ns, nil, 0) {
			require.NoError(t, err)
			info, err := s.Op(ns, sent.ID)
			require.NoError(t, err)
			require.True(t, info.Root != nil || info.Body != nil)
			n++
		}
		require.Equal(t, 4, n, "all but the name")
		s = s.reopened(t, 3)
	}
}

// What has waited is judged before the next op of a stream, which may stand on it.
func TestOpWhoseAncestorsCameBeforeItInTheStreamIsStored(t *testing.T) {
	z, k, ns := pairOf(t)
	heads, err := z.Heads(t.Context(), ns)
	require.NoError(t, err)
	first := mergeOn(t, ns, "K", 1, heads...)
	waits := mergeOn(t, ns, "K", 2, first.ID)
	last := mergeOn(t, ns, "K", 3, waits.ID)
	applied(t, k, waits.wire())
	both := k.check([][]byte{first.wire(), last.wire()})
	a, b := both[0], both[1]
	require.NoError(t, k.submit(ns, a.request, b.request)) // in one batch
	answer, err := a.result()
	require.NoError(t, err)
	require.Len(t, answer.Cascade, 1)
	answer, err = b.result()
	require.NoError(t, err)
	require.Equal(t, Stored, answer.Kind)
	requireSound(t, k, ns)
}

// What waits is read from the batch that it was put into, and from the store once that
// is written, however many batches a cascade takes.
func TestOpsThatBeganToWaitInABatchAreJudgedByTheNextOnes(t *testing.T) {
	for _, most := range []int{1, 2, 5, 60} {
		z, k, ns := pairOf(t)
		require.NoError(t, k.Close())
		writes := 0
		k = openStore(t, &guarded{Engine: k.db, before: func(*engine.Batch) error { writes++; return nil }}, 2)
		k.SetMost(most)
		parents, err := z.Heads(bg, ns)
		require.NoError(t, err)
		var requests []*request
		for n := range uint64(60) {
			op := mergeOn(t, ns, "K", 1+n, parents...)
			parents = []codec.OpID{op.ID}
			requests = append([]*request{k.check([][]byte{op.wire()})[0].request}, requests...)
		}
		_, err = k.Heads(bg, ns)
		require.NoError(t, err)
		before := writes
		require.NoError(t, k.submit(ns, requests...))
		require.Equal(t, 60/most, writes-before, "nothing is done twice")
		for _, r := range requests {
			require.NoError(t, r.Err)
		}
		heads, err := k.Heads(bg, ns)
		require.NoError(t, err)
		require.Equal(t, parents, heads)
		requireSound(t, k, ns)
	}
}

func TestManyHeadsAreJoined(t *testing.T) {
	z, k, ns := pairOf(t)
	takeForks(z)
	first, err := z.Heads(t.Context(), ns)
	require.NoError(t, err)
	for n := range 70 { // K signs beside itself
		wire := besideK(t, z, ns, first, n)
		a := applied(t, z, wire)
		require.Equal(t, n > 0, a.Equivocation != nil)
	}
	all, err := z.Equivocations(ns, group.Equivocation{}, 0)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, 70, all[0].Count)
	require.Equal(t, idOf("K"), all[0].Signer)
	p := proposed(t, z, ns, ns, call("joined"))
	require.Len(t, p.Wire, 2)
	heads, err := z.Heads(t.Context(), ns)
	require.NoError(t, err)
	require.Equal(t, []codec.OpID{p.Answer.ID}, heads)
	exchange(t, ns, z, k)
	requireSound(t, z, ns)
	requireSound(t, k, ns)
}

// besideK returns the n-th op that K signs with its first nonce on the given heads.
func besideK(t testing.TB, s *Store, ns codec.GroupID, heads []codec.OpID, n int) []byte {
	name, key := s.current(t, ns)
	body := codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: idOf("K"), Name: codec.Some(codec.AliasName([]byte{byte('a' + n%26), byte('a' + n/26)}))}
	op := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: ns, Parents: heads, Nonce: 1, Signer: idOf("K"),
		Op: codec.NamespaceOp{Kind: codec.NamespaceSealed, GroupID: ns, KeyOp: name}}
	inner := codec.SignedGroupOp{GroupID: ns, Parents: heads, Signer: op.Signer, Nonce: 1, Op: body}
	require.NoError(t, group.SignOp(&inner, seedOf("K")))
	plain, err := inner.AppendBinary(nil)
	require.NoError(t, err)
	require.NoError(t, SealOp(randomness(byte(n)), op, key, plain))
	require.NoError(t, Sign(op, seedOf("K")))
	wire, err := op.AppendBinary(nil)
	require.NoError(t, err)
	return wire
}

// current returns the key under which a node seals in the namespace's root group, with its
// name.
func (s *Store) current(t testing.TB, ns codec.GroupID) (name codec.OpID, key codec.Secret) {
	found, err := s.Keys(ns)
	require.NoError(t, err)
	for _, info := range found {
		if info.Current {
			require.NoError(t, s.view(ns, func(c *loaded) error {
				name, key = info.Op, c.ring[GroupKey{ns, info.ID}]
				return nil
			}))
			return name, key
		}
	}
	require.Fail(t, "there is no key")
	return name, key
}

func TestRefusalsAreTyped(t *testing.T) {
	z, k, ns := pairOf(t)
	heads, err := z.Heads(t.Context(), ns)
	require.NoError(t, err)
	merge := func(name string, nonce uint64, parents []codec.OpID) []byte {
		s := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: ns, Parents: parents, Nonce: nonce, Op: codec.NamespaceOp{Root: codec.RootOp{Kind: codec.RootMerge}}}
		require.NoError(t, Sign(s, seedOf(name)))
		wire, err := s.AppendBinary(nil)
		require.NoError(t, err)
		return wire
	}
	spoilt := merge("K", 1, heads)
	spoilt[len(spoilt)-1] ^= 1
	second := &codec.SignedNamespaceOp{}
	for sent, err := range z.OpsSince(bg, ns, nil, 0) {
		require.NoError(t, err)
		*second, err = second.Decode(sent.Wire)
		require.NoError(t, err)
		break
	}
	identity, err := z.ExportIdentity(ns)
	require.NoError(t, err)
	second.Nonce = 2
	require.NoError(t, Sign(second, identity.PrivateKey))
	again, err := second.AppendBinary(nil)
	require.NoError(t, err)
	for _, tc := range []struct {
		wire []byte
		want RefusalReason
	}{
		{merge("K", 2, heads), BadNonce}, {merge("X", 1, heads), Stranger}, {spoilt, BadSignature}, {spoilt[1:], BadForm},
		{merge("K", 1, nil), BadForm}, {again, BadForm},
	} {
		a, err := k.Apply(bg, tc.wire)
		require.NoError(t, err)
		require.Equal(t, Refused, a.Kind)
		require.Equal(t, tc.want, a.Refusal.Reason, a.Refusal)
	}
	applied(t, k, merge("K", 1, heads))
	now, err := k.Heads(t.Context(), ns)
	require.NoError(t, err)
	a, err := k.Apply(bg, merge("K", 1, now))
	require.NoError(t, err)
	require.Equal(t, Replay, a.Refusal.Reason)
}

func TestWhatWaitsLongestMakesRoom(t *testing.T) {
	z, _, ns := pairOf(t)
	var wires [][]byte
	for range 5 {
		wires = append(wires, proposed(t, z, ns, ns, call("a")).Wire...)
	}
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	s, err := Open(db, Options{MaxPending: 3})
	require.NoError(t, err)
	require.NoError(t, s.FollowNamespace(ns))
	var last Answer
	for _, w := range wires {
		last, err = s.Apply(bg, w)
		require.NoError(t, err)
		require.Equal(t, Pending, last.Kind)
	}
	require.Len(t, last.Dropped, 1)
	for range 2 {
		n, _, err := s.Waiting(ns)
		require.NoError(t, err)
		require.Equal(t, 3, n)
		missing, err := s.Missing(ns, codec.OpID{}, 0)
		require.NoError(t, err)
		require.Equal(t, last.Dropped, missing)
		s = s.reopened(t, 1)
	}
}

func TestStreamIsAnsweredInOrder(t *testing.T) {
	z, _, ns := pairOf(t)
	for range 300 {
		proposed(t, z, ns, ns, call("a"))
	}
	var wires [][]byte
	for sent, err := range z.OpsSince(bg, ns, nil, 0) {
		require.NoError(t, err)
		wires = append(wires, sent.Wire)
	}
	wires = append(wires, []byte("nothing"), wires[0])
	s := newStore(t, 5)
	imported(t, s, ns, "K")
	n := 0
	for a, err := range s.ApplyMany(bg, func(yield func([]byte) bool) {
		for _, w := range wires {
			if !yield(w) {
				return
			}
		}
	}) {
		require.NoError(t, err)
		switch {
		case n < len(wires)-2:
			require.Equal(t, Stored, a.Kind, "%d: %v", n, a.Refusal)
			if n >= 4 { // those before may be answered before K is sent the key
				require.Equal(t, group.Effective, a.Verdict.Outcome)
			}
		case n == len(wires)-2:
			require.Equal(t, Refused, a.Kind)
		default:
			require.Equal(t, Duplicate, a.Kind)
		}
		n++
	}
	require.Equal(t, len(wires), n)
	requireSound(t, s, ns)
}

// Nothing is made that others would refuse, or read as void for good.
func TestNothingIsProposedThatOthersRefuse(t *testing.T) {
	z, _, ns := pairOf(t)
	_, err := z.Propose(bg, ns, Proposal{})
	require.ErrorIs(t, err, ErrNotEffective)
	_, err = z.Propose(bg, ns, Proposal{GroupID: ns, Group: &codec.GroupOp{Kind: codec.OpMemberAdded, Member: codec.Identity{1}}})
	require.ErrorIs(t, err, ErrIdentity)
	invitation, err := z.Invite(bg, Invite{GroupID: ns, Role: codec.Member, Expires: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	v, err := ParseInvitation(invitation)
	require.NoError(t, err)
	_, err = z.Propose(bg, ns, Proposal{Root: &codec.RootOp{Kind: codec.RootMemberJoined, Invitation: v, Member: idOf("M")}})
	require.ErrorIs(t, err, ErrRefused)
	_, err = z.Propose(bg, codec.GroupID{1}, Proposal{Root: &codec.RootOp{Kind: codec.RootMerge}})
	require.ErrorIs(t, err, ErrNoNamespace)
	before, err := z.Heads(t.Context(), ns)
	require.NoError(t, err)
	_, err = z.Propose(bg, ns, Proposal{GroupID: ns, Group: &codec.GroupOp{Kind: codec.OpMigrationSet, Migration: codec.Some(strings.Repeat("m", MaxOp))}})
	require.ErrorIs(t, err, ErrRefused, "more bytes than an op may have")
	after, err := z.Heads(t.Context(), ns)
	require.NoError(t, err)
	require.Equal(t, before, after)
	requireSound(t, z, ns)
}

// An identity that is imported after its ops have come opens what is for it, and knows
// its next nonce.
func TestIdentityMayComeLater(t *testing.T) {
	z, k, ns := pairOf(t)
	proposed(t, k, ns, ns, call("K's"))
	exchange(t, ns, z, k)
	s := newStore(t, 6)
	exchange(t, ns, z, s)
	require.Len(t, ops(t, s, ns, Window{}), 2, "what is clear")
	requireSound(t, s, ns)
	imported(t, s, ns, "K")
	require.Len(t, ops(t, s, ns, Window{}), 4)
	requireSound(t, s, ns)
	require.Equal(t, group.Effective, proposed(t, s, ns, ns, call("K's again")).Answer.Verdict.Outcome)
	requireSound(t, s, ns)
	require.ErrorIs(t, s.ImportIdentity(ns, codec.NamespaceIdentityValue{PublicKey: idOf("L"), PrivateKey: seedOf("L")}), ErrIdentityExists)
}

// Ops that a key opens, more than a batch has room for, are opened by further ones, also
// by the next process.
func TestManyOpsAreOpenedByOneKey(t *testing.T) {
	z, _, ns := pairOf(t)
	for range 12 {
		proposed(t, z, ns, ns, call("a"))
	}
	for n := 1; ; n++ {
		db := mem.New()
		defer func() { _ = db.Close() }()
		exchange(t, ns, z, openStore(t, db, 1))
		f := faulty.New(db, faulty.Options{At: n, Fault: faulty.CrashBefore})
		s := openStore(t, f, 2)
		s.most = 3
		err := s.ImportIdentity(ns, codec.NamespaceIdentityValue{PublicKey: idOf("K"), PrivateKey: seedOf("K")})
		s = openStore(t, f.Restart(), 3)
		if n == 1 {
			require.Error(t, err)
			require.Len(t, ops(t, s, ns, Window{}), 2, "what is clear")
			continue
		}
		require.NoError(t, err, "what follows the first batch is done later")
		require.Len(t, ops(t, s, ns, Window{}), 15)
		requireSound(t, s, ns)
		if !f.Tripped() {
			require.Greater(t, n, 4)
			return
		}
	}
}
