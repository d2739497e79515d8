package namespace_test

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/engine/seal"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

// The weak points of keys, invitations and what lies at rest.

// mended returns a forge, and Z's node on it, which seals under a key that exactly the
// members Z, K, L and M have.
func mended(t *testing.T) (*forge, *witness) {
	f := opening(t)
	w := f.holding(t, "Z")
	require.Len(t, w.propose(f.ns, named("mended")), 1)
	return f, w
}

// keyUnder returns the op that introduces the key under which the node seals.
func (w *witness) keyUnder() codec.OpID {
	made := w.propose(w.ns, named("asked"))
	require.Len(w.t, made, 1)
	return made[0].KeyOp
}

// holders returns who holds the key under which the node seals.
func (w *witness) holders() (found []codec.Identity) {
	infos, err := w.store.Keys(w.ns)
	require.NoError(w.t, err)
	for _, info := range infos {
		if info.Current {
			found = append(found, info.Holders...)
		}
	}
	return found
}

// Anyone could plant a key as the current one, by a delivery or by a rotation.
func TestWeakPoint11NobodyPlantsAKey(t *testing.T) {
	f, w := mended(t)
	defer w.close()
	current := w.keyUnder()
	members := all("Z", "K", "L", "M")
	planted, err := namespace.NewKey(f.random)
	require.NoError(t, err)
	require.Nil(t, f.deliver(f.ns, "K", heldKey{f.ops[1].ID, planted}, members), "a key that nobody has introduced")
	for _, bad := range f.refused {
		w.giveBad(bad)
		require.Equal(t, namespace.UnknownKey, bad.reason)
	}
	key, _ := f.keyAt(f.heads(), f.ns)
	give := func(op *namespace.Op) *namespace.Op {
		require.NotNil(t, op)
		w.give(op)
		return op
	}
	// other bytes under the name of the key, and the key for somebody who is no member
	give(f.deliver(f.ns, "M", heldKey{key.op, planted}, members))
	give(f.deliver(f.ns, "M", key, all("X")))
	// a key that somebody lacks, or has who should not, and one of which an envelope is garbage
	give(f.rotated(f.ns, "M", []heldKey{key}, all("Z", "K", "M")))
	give(f.rotated(f.ns, "M", []heldKey{key}, all("Z", "K", "L", "M", "X")))
	s := f.draft("M", nil)
	made := f.newKey(s, f.ns, []heldKey{key}, members)
	made.Envelopes[2].Sealed[0] ^= 1
	garbage := give(f.clear(s, f.ns, codec.GroupOp{Kind: codec.OpKeyRotated}, made))
	under, _ := f.keyAt([]codec.OpID{garbage.ID}, f.ns)
	s = f.draft("K", nil)
	lost := give(f.sealed(s, f.ns, under, f.inner(s, f.ns, named("planted"))))
	// a good one, by a member: an Admin's goes before it
	give(f.rotated(f.ns, "M", []heldKey{key}, members))
	require.Equal(t, current, w.keyUnder())
	require.ElementsMatch(t, members, w.holders())
	requireVerdict(t, "void: key not good", w.check(), lost)
	// and who takes the key out of the group is removed, with a new one
	require.Len(t, w.propose(f.ns, removed("M"))[0].Keys, 1)
	require.ElementsMatch(t, all("Z", "K", "L"), w.holders())
}

// Whoever came with any invitation got the key and was a member, by a row outside the log.
func TestWeakPoint12InvitationsAreLookedAt(t *testing.T) {
	f, w := mended(t)
	defer w.close()
	good := f.join("Z", "N", f.ns, codec.Member, 1)
	for name, change := range map[string]func(r *codec.RootOp){
		"signature": func(r *codec.RootOp) { r.Invitation.Signature[3] ^= 1 },
		"role":      func(r *codec.RootOp) { r.Invitation.Role = codec.Admin },
		"inviter":   func(r *codec.RootOp) { r.Invitation.Inviter = is("K") },
		"group":     func(r *codec.RootOp) { r.Invitation.GroupID = f.sub },
		"member":    func(r *codec.RootOp) { r.Member = is("X") },
		"joiner":    func(r *codec.RootOp) { r.JoinerSignature[3] ^= 1 },
		"expiry":    func(r *codec.RootOp) { r.Invitation.ExpiresAt++ },
		"namespace": func(r *codec.RootOp) { r.Invitation.NamespaceID = f.sub },
		"invitee":   func(r *codec.RootOp) { r.Invitation.Invitee = codec.Some(is("X")) },
	} {
		r := good
		change(&r)
		require.Nil(t, f.root("K", r), name)
	}
	for _, bad := range f.refused {
		w.giveBad(bad)
	}
	// of one who may invite nobody
	void := f.root("K", f.join("M", "N", f.ns, codec.Member, 2))
	w.give(void)
	requireVerdict(t, "void: no right", w.check(), void)
	join := f.root("K", good)
	w.give(join)
	result := w.check()
	require.Contains(t, result.Members(f.ns), is("N"))
	require.Equal(t, []codec.OpID{join.ID}, w.heads(), "nothing is written because of what somebody sends")
}

// Only the joiner looked at the expiry, and an invitation could be used again for a year.
func TestWeakPoint13WhoAdmitsLooksAtTheExpiry(t *testing.T) {
	f := opening(t)
	w := newWitness(t, f, "Z", newMem())
	defer w.close()
	at := time.Unix(1000, 0)
	w.now = func() time.Time { return at }
	w.restart()
	for _, op := range f.ops {
		w.give(op)
	}
	invite := func() []byte {
		v, err := w.store.Invite(context.Background(), namespace.Invite{GroupID: f.ns, Role: codec.Member, Expires: time.Unix(2000, 0)})
		require.NoError(t, err)
		return v
	}
	v := invite()
	ask := func(name string, v []byte) []byte {
		parsed, err := namespace.ParseInvitation(v)
		require.NoError(t, err)
		sig, err := group.SignJoin(&parsed, who(name))
		require.NoError(t, err)
		id := is(name)
		return slices.Concat(v, id[:], sig[:])
	}
	at = time.Unix(2001, 0)
	_, err := w.store.Admit(context.Background(), ask("A", v))
	require.ErrorIs(t, err, namespace.ErrExpired)
	at = time.Unix(1999, 0)
	done, err := w.store.Admit(context.Background(), ask("A", v))
	require.NoError(t, err)
	require.Equal(t, group.Effective, done.Answer.Verdict.Outcome)
	_, err = w.store.Admit(context.Background(), ask("B", v))
	require.ErrorIs(t, err, namespace.ErrNotEffective, "it is used")
	// whoever gets the join after the expiry takes it as it is
	late := newWitness(t, f, "M", newMem())
	defer late.close()
	late.now = func() time.Time { return time.Unix(9999, 0) }
	late.restart()
	for _, op := range f.ops {
		late.give(op)
	}
	for _, wire := range done.Wire {
		a, err := late.store.Apply(context.Background(), wire)
		require.NoError(t, err)
		require.Equal(t, group.Effective, a.Verdict.Outcome)
	}
}

// A join that straddles the expiry, admitted twice beside each other: both count, in
// every order, whatever the clocks say.
func TestJoinThatStraddlesTheExpiryInEveryOrder(t *testing.T) {
	f := opening(t)
	base, from := f.heads()[0], len(f.ops)
	first := f.root("K", f.join("Z", "A", f.ns, codec.Member, 1), base)
	second := f.root("L", f.join("Z", "B", f.ns, codec.Member, 1), base)
	again := f.root("L", f.join("Z", "X", f.ns, codec.Member, 1), first.ID)
	acts := f.op("A", codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: is("A"), Name: codec.Some(codec.AliasName("a"))}, first.ID)
	r := f.everyOrder(t, from)
	requireVerdict(t, "effective", r, first)
	requireVerdict(t, "effective", r, second)
	requireVerdict(t, "void: invitation used", r, again)
	requireVerdict(t, "effective", r, acts)
}

// An envelope opened in any group, from anyone, and keys of small order were taken.
func TestWeakPoint14EnvelopesAreBound(t *testing.T) {
	f, w := mended(t)
	defer w.close()
	op := w.propose(f.ns, codec.GroupOp{Kind: codec.OpKeyRotated})[0]
	r := op.Signed.Op.Keys[0]
	for i := range r.Envelopes {
		e := r.Envelopes[i]
		seed := f.seedOf(e.Recipient)
		const v = codec.OpVersion2
		_, err := namespace.OpenKey(v, seed, f.ns, f.ns, r.KeyID, &e)
		require.NoError(t, err)
		_, err = namespace.OpenKey(v, seed, f.ns, f.sub, r.KeyID, &e)
		require.ErrorIs(t, err, namespace.ErrOpen)
		_, err = namespace.OpenKey(v, seed, f.sub, f.ns, r.KeyID, &e)
		require.ErrorIs(t, err, namespace.ErrOpen)
		e.Ephemeral[0] ^= 1
		_, err = namespace.OpenKey(v, seed, f.ns, f.ns, r.KeyID, &e)
		require.Error(t, err)
		e.Recipient, e.Ephemeral = is("X"), r.Envelopes[i].Ephemeral
		_, err = namespace.OpenKey(v, who("X"), f.ns, f.ns, r.KeyID, &e)
		require.ErrorIs(t, err, namespace.ErrOpen)
		for _, small := range []codec.Hash{{}, {1}} {
			e := codec.KeyEnvelope{Recipient: is("K"), Ephemeral: small, Sealed: e.Sealed}
			_, err = namespace.OpenKey(v, who("K"), f.ns, f.ns, r.KeyID, &e)
			require.ErrorIs(t, err, namespace.ErrOpen)
		}
	}
	// an envelope in the delivery for another group, and one to a key of small order
	moved := f.root("Z", codec.RootOp{Kind: codec.RootKeyDelivered, GroupID: f.sub, KeyOp: op.ID, Envelopes: r.Envelopes[:1]})
	require.Nil(t, moved)
	small := f.root("Z", codec.RootOp{Kind: codec.RootKeyDelivered, GroupID: f.ns, KeyOp: op.ID,
		Envelopes: []codec.KeyEnvelope{{Recipient: codec.Identity{1}, Ephemeral: codec.Hash{9}}}})
	require.Nil(t, small)
	for _, bad := range f.refused {
		w.giveBad(bad)
	}
	require.Equal(t, namespace.BadForm, f.refused[len(f.refused)-1].reason)
	w.check()
}

// The current key was that which a node had received last, by its clock.
func TestWeakPoint15TheCurrentKeyIsAFunctionOfTheDAG(t *testing.T) {
	f, w := mended(t)
	defer w.close()
	// two removals beside each other, each with a key that the other's victim has not
	from := len(f.ops)
	k, l := f.holding(t, "K"), f.holding(t, "L")
	k.propose(f.ns, removed("M"))
	l.propose(f.ns, removed("A"))
	l.propose(f.ns, removed("M"))
	k.close()
	l.close()
	var current []codec.KeyID
	for _, order := range [][]*namespace.Op{f.ops, reversedFrom(f.ops, from)} {
		node := newWitness(t, f, "Z", newMem())
		for _, op := range order {
			node.give(op)
		}
		infos, err := node.store.Keys(f.ns)
		require.NoError(t, err)
		for _, info := range infos {
			if info.Current {
				current = append(current, info.ID)
			}
		}
		node.check()
		node.close()
	}
	require.True(t, len(current) == 0 || len(current) == 2 && current[0] == current[1], "%v", current)
}

func reversedFrom(ops []*namespace.Op, from int) []*namespace.Op {
	tail := slices.Clone(ops[from:])
	slices.Reverse(tail)
	return append(slices.Clone(ops[:from]), tail...)
}

// Who left, or handed over, or was removed above, kept the key that others went on with.
func TestWeakPoint16EveryWayOutEndsInANewKey(t *testing.T) {
	for name, out := range map[string]func(f *forge, w *witness){
		"leaving":                        func(f *forge, w *witness) { w.give(f.op("M", codec.GroupOp{Kind: codec.OpMemberLeft})) },
		"removal":                        func(f *forge, w *witness) { w.propose(f.ns, removed("M")) },
		"removal by an op without a key": func(f *forge, w *witness) { w.give(f.op("K", removed("M"))) },
	} {
		t.Run(name, func(t *testing.T) {
			f, w := mended(t)
			defer w.close()
			f.t, w.t = t, t
			w.propose(f.sub, added("M", codec.Member))
			w.propose(f.sub, named("M is here"))
			m := f.holding(t, "M")
			defer m.close()
			require.Equal(t, []codec.Identity{is("M")}, slices.DeleteFunc(m.check().Members(f.sub), func(id codec.Identity) bool { return id != is("M") }))
			out(f, w)
			var after []*namespace.Op
			for _, g := range []codec.GroupID{f.ns, f.sub} {
				made := w.propose(g, named("after"))
				after = append(after, made[len(made)-1])
			}
			for _, op := range f.ops {
				if m.has[op.ID] == nil {
					m.give(op)
				}
			}
			r := m.check()
			for _, op := range after {
				require.Equal(t, group.Sealed, r.Verdicts[op.ID].Outcome)
			}
			require.NotContains(t, w.check().Members(f.sub), is("M"))
		})
	}
}

// Ids were taken as they came, and most of what was sent was not signed.
func TestWeakPoint17EveryByteCounts(t *testing.T) {
	f, w := mended(t)
	defer w.close()
	rows := everything(t, w.db)
	for _, op := range []*namespace.Op{f.ops[0], f.ops[4], f.ops[len(f.ops)-1]} {
		whole := bytesOf(t, op)
		for i := range whole {
			b := bytes.Clone(whole)
			b[i] ^= 1 << (i % 8)
			a, err := w.store.Apply(context.Background(), b)
			require.NoError(t, err)
			require.Equal(t, namespace.Refused, a.Kind, "byte %d of %d", i, len(b))
		}
		for _, b := range [][]byte{nil, whole[:len(whole)-1], append(bytes.Clone(whole), 0)} {
			a, err := w.store.Apply(context.Background(), b)
			require.NoError(t, err)
			require.Equal(t, namespace.BadForm, a.Refusal.Reason)
		}
	}
	require.Equal(t, rows, everything(t, w.db))
}

// What nodes should agree on was never compared with what they had.
func TestWeakPoint18DivergenceIsFound(t *testing.T) {
	f, w := mended(t)
	defer w.close()
	found, err := w.store.Verify(context.Background(), f.ns)
	require.NoError(t, err)
	require.Empty(t, found)
	rows, log := w.column()
	for key, v := range log {
		rows[key] = v
	}
	tampered := map[byte]bool{}
	for key, v := range rows {
		if tag := key[0]; tampered[tag] || tag == 0x37 || tag == 0x38 || tag == 0x30 || tag == 0x3A {
			continue
		}
		tampered[key[0]] = true
		var b engine.Batch
		if v == "" {
			b.Delete(column.Group, []byte(key))
		} else {
			b.Put(column.Group, []byte(key), append([]byte(v[:len(v)-1]), v[len(v)-1]^1))
		}
		require.NoError(t, w.db.Apply(&b))
		found, err := w.store.Verify(context.Background(), f.ns)
		require.NoError(t, err)
		require.NotEmpty(t, found, "%x", key)
		b.Reset()
		b.Put(column.Group, []byte(key), []byte(v))
		require.NoError(t, w.db.Apply(&b))
	}
	require.GreaterOrEqual(t, len(tampered), 6)
}

// sealable is an engine in memory that keeps the row of package seal.
type sealable struct {
	*mem.Engine
	row []byte
}

func (s *sealable) SealRow() ([]byte, error)    { return s.row, nil }
func (s *sealable) SetSealRow(row []byte) error { s.row = row; return nil }

// Private keys and group keys lay in clear.
func TestWeakPoint19SecretsAreSealedAtRest(t *testing.T) {
	key, err := seal.NewKey(bytes.Repeat([]byte{7}, 32))
	require.NoError(t, err)
	raw := &sealable{Engine: mem.New()}
	db, err := seal.Open(raw, key, seal.Options{})
	require.NoError(t, err)
	f := opening(t)
	w := newWitness(t, f, "Z", db)
	defer w.close()
	for _, op := range f.ops {
		w.give(op)
	}
	w.propose(f.ns, removed("M"))
	w.check()
	secrets := [][]byte{who("Z").Bytes()}
	for _, k := range w.ring() {
		secrets = append(secrets, k.Bytes())
	}
	require.Greater(t, len(secrets), 3)
	for key, v := range everything(t, raw) {
		for _, s := range secrets {
			require.NotContains(t, key+v, string(s))
		}
	}
}

// What failed after it had begun left a key and an op behind, while its caller was told
// that it had failed.
func TestWeakPoint26WhatFailsToBeProposedLeavesNothing(t *testing.T) {
	f, w := mended(t)
	require.NoError(t, w.store.Close())
	before := everything(t, w.db)
	body := removed("M")
	for _, fault := range []faulty.Fault{faulty.Fail, faulty.CrashBefore, faulty.CrashAfter} {
		for n := 1; ; n++ {
			broken := faulty.New(cloned(t, w.db), faulty.Options{At: n, Fault: fault})
			c := w.on(t, f, broken)
			done, err := c.store.Propose(context.Background(), f.ns, namespace.Proposal{GroupID: f.ns, Group: &body})
			_ = c.store.Close()
			c.db = broken.Restart()
			c.open()
			if !broken.Tripped() {
				require.NoError(t, err)
				c.close()
				break
			}
			require.Error(t, err)
			require.Empty(t, done.Wire)
			if rows := everything(t, c.db); fault != faulty.CrashAfter {
				require.Equal(t, before, rows)
			}
			found, err := c.store.Verify(context.Background(), f.ns)
			require.NoError(t, err)
			require.Empty(t, found)
			c.close()
		}
	}
	require.NoError(t, w.db.Close())
}
