package namespace_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

// Attacks of members, present or removed, on the authority of Admins: each by its name in
// what was written about them.

// authority returns the rows that follow from what is clear: those of groups, members,
// roles, capabilities, defaults, nonces and the tree.
func (w *witness) authority() map[string]string {
	rows, _ := w.column()
	for key := range rows {
		if !strings.Contains("\x21\x26\x29\x2C\x34\x35\x36", key[:1]) {
			delete(rows, key)
		}
	}
	return rows
}

// giveAll gives nodes what they lack of a forge, and demands that they agree on authority.
func (f *forge) giveAll(nodes ...*witness) {
	for _, w := range nodes {
		for _, op := range slices.Clone(f.ops) {
			if w.has[op.ID] == nil {
				w.give(op)
			}
		}
		w.check()
	}
	for _, w := range nodes[1:] {
		require.Equal(f.t, nodes[0].authority(), w.authority(), "%s and %s", nodes[0].name, w.name)
	}
}

// govern has an Admin's node do what it must always be able to do: remove somebody of
// lower rank, give the group a key that exactly the members hold, and act.
func (w *witness) govern(gone string) {
	f := w.forge
	removal := w.propose(f.ns, removed(gone))
	require.Equal(w.t, codec.OpMemberRemoved, removal[0].Clear.Kind)
	done, err := w.store.Rotate(w.t.(*testing.T).Context(), f.ns, true)
	require.NoError(w.t, err)
	w.took(done)
	made := w.propose(f.ns, named("governed"))
	r := w.check()
	require.Equal(w.t, group.Effective, r.Verdicts[made[len(made)-1].ID].Outcome)
	require.NotContains(w.t, r.Members(f.ns), is(gone))
	require.ElementsMatch(w.t, r.Members(f.ns), w.holders())
}

// solo: a read-only member sends a key to a stranger, which made a rotation due, and makes
// one of which the Admin's envelope is garbage.
func TestAttackSolo(t *testing.T) {
	f := opening(t)
	f.op("Z", roleSet("M", codec.ReadOnly))
	z, k := f.holding(t, "Z"), f.holding(t, "K")
	defer z.close()
	defer k.close()
	key, _ := f.keyAt(f.heads(), f.ns)
	sent := f.deliver(f.ns, "M", key, all("X"))
	s := f.draft("M", nil)
	made := f.newKey(s, f.ns, []heldKey{key}, f.members(s.Parents, f.ns))
	for i := range made.Envelopes {
		if made.Envelopes[i].Recipient == is("Z") {
			made.Envelopes[i].Sealed[7] ^= 1
		}
	}
	bad := f.clear(s, f.ns, codec.GroupOp{Kind: codec.OpKeyRotated}, made)
	f.giveAll(z, k)
	require.Equal(t, key.op, k.keyUnder(), "nothing is due")
	f.giveAll(z)
	for _, w := range []*witness{k, z} { // who can open it sees what it is, and who got garbage
		found, err := w.store.Verify(t.Context(), f.ns)
		require.NoError(t, err)
		require.Len(t, found, 2)
		require.Contains(t, found[0].What, sent.ID.String())
		require.Contains(t, found[1].What, bad.ID.String())
		require.Empty(t, damage(found), "the stores are as they have to be")
	}
	keys, err := z.store.Keys(f.ns)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(keys, func(info namespace.KeyInfo) bool {
		return info.Op == bad.ID && info.Fault != "" && slices.Equal(info.Cheated, all("Z"))
	}), "%+v", keys)
	keys, err = k.store.Keys(f.ns)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(keys, func(info namespace.KeyInfo) bool {
		return info.Op == bad.ID && info.Fault != "" && slices.Equal(info.Cheated, all("Z"))
	}), "%+v", keys)
	z.govern("M")
	f.giveAll(z, k)
}

// lockout: the same with an accomplice who leaves, so that a rotation is due.
func TestAttackLockout(t *testing.T) {
	f := opening(t)
	z := f.holding(t, "Z")
	defer z.close()
	f.op("L", codec.GroupOp{Kind: codec.OpMemberLeft})
	s := f.draft("M", nil)
	made := f.newKey(s, f.ns, nil, f.members(s.Parents, f.ns))
	for i := range made.Envelopes {
		made.Envelopes[i].Sealed[7] ^= 1
	}
	f.clear(s, f.ns, codec.GroupOp{Kind: codec.OpKeyRotated}, made)
	f.giveAll(z)
	z.govern("M")
}

// 1, 2, 12: at a cut below an Admin's grant a member makes a key that is good there, acts
// under it, and hands it to some. Who is a member does not depend on it, and what was sealed
// under it has no effect for anybody once an Admin who can't open it has rotated.
func TestAttackOldCutAndDisclosureToSome(t *testing.T) {
	f := forgeOf(t, 1)
	f.op("Z", added("M", codec.Member))
	old := f.op("Z", codec.GroupOp{Kind: codec.OpMemberCapabilitySet, Member: is("M"), Capabilities: codec.AllCapabilities})
	f.op("Z", added("K", codec.Admin))
	f.op("Z", added("L", codec.Admin))
	hidden := f.rotated(f.ns, "M", nil, f.members([]codec.OpID{old.ID}, f.ns), old.ID)
	key, _ := f.keyAt([]codec.OpID{hidden.ID}, f.ns)
	f.op("M", added("A", codec.Member), hidden.ID)
	s := f.draft("M", []codec.OpID{f.ops[len(f.ops)-1].ID})
	sealed := f.sealed(s, f.ns, key, f.inner(s, f.ns, registered(codec.ContextID{7})))
	f.deliver(f.ns, "M", key, all("A"), sealed.ID)
	joined := f.root("M", codec.RootOp{Kind: codec.RootMerge})
	f.deliver(f.ns, "M", key, all("L"), joined.ID)
	k, l, n := f.holding(t, "K"), f.holding(t, "L"), f.holding(t, "N")
	for _, w := range []*witness{k, l, n} {
		defer w.close()
	}
	f.giveAll(k, l, n)
	require.Equal(t, group.Effective, l.check().Verdicts[sealed.ID].Outcome, "L was told")
	require.Equal(t, group.Sealed, k.check().Verdicts[sealed.ID].Outcome)
	k.govern("M")
	f.giveAll(k, l, n)
	requireVerdict(t, "void: key abandoned", l.check(), sealed)
	rowsOfK, _ := k.column()
	rowsOfL, _ := l.column()
	for key := range rowsOfK {
		if key[0] == 0x22 || key[0] == 0x23 || key[0] == 0x2E || key[0] == 0x20 { // contexts, names
			require.Equal(t, rowsOfK[key], rowsOfL[key], "%x", key)
		}
	}
}

// 3: a removed member says on top of the removal that a key of its own carries the Admin's,
// and that the Admin's key is its own.
func TestAttackOnTheIndexOfHolders(t *testing.T) {
	f, w := mended(t)
	defer w.close()
	w.propose(f.ns, removed("M"))
	current := w.keyUnder()
	key, _ := f.keyAt(f.heads(), f.ns)
	require.Equal(t, current, key.op)
	bogus := heldKey{key.op, codec.Secret{1}}
	for _, to := range [][]codec.Identity{all("M", "X"), f.members(f.heads(), f.ns), append(f.members(f.heads(), f.ns), is("M"))} {
		slices.SortFunc(to, compare)
		require.NotNil(t, f.rotated(f.ns, "M", []heldKey{bogus}, to))
	}
	require.NotNil(t, f.deliver(f.ns, "M", bogus, all("M", "X")))
	s := f.draft("M", []codec.OpID{f.ops[len(f.ops)-1].ID})
	same := f.newKey(s, f.ns, nil, all("M", "X"))
	same.KeyID = namespace.KeyID(key.key) // the id is clear
	require.NotNil(t, f.clear(s, f.ns, codec.GroupOp{Kind: codec.OpKeyRotated}, same))
	f.giveAll(w)
	require.Equal(t, current, w.keyUnder())
	require.ElementsMatch(t, all("Z", "K", "L"), w.holders())
}

// 4: what is sent to strangers makes nothing due, however often.
func TestAttackDueForEver(t *testing.T) {
	f, w := mended(t)
	defer w.close()
	key, _ := f.keyAt(f.heads(), f.ns)
	for range 5 {
		require.NotNil(t, f.deliver(f.ns, "M", key, all("X")))
		f.giveAll(w)
		require.Equal(t, key.op, w.keyUnder())
	}
	w.govern("M")
}

// 5: a member rotates beside its removal, and honest members who have not seen that seal
// under its key: what they did stays.
func TestAttackVoidedRotation(t *testing.T) {
	f, w := mended(t)
	defer w.close()
	base := f.heads()
	key, _ := f.keyAt(base, f.ns)
	f.op("K", roleSet("M", codec.Admin))
	f.giveAll(w)
	base = f.heads()
	rotation := f.rotated(f.ns, "M", []heldKey{key}, f.members(base, f.ns), base...)
	theirs, _ := f.keyAt([]codec.OpID{rotation.ID}, f.ns)
	s := f.draft("K", []codec.OpID{rotation.ID})
	honest := f.sealed(s, f.ns, theirs, f.inner(s, f.ns, registered(codec.ContextID{7})))
	f.op("Z", removed("M"), base...)
	f.giveAll(w)
	r := w.check()
	require.NotContains(t, r.Members(f.ns), is("M"))
	requireVerdict(t, "effective", r, honest)
	require.NotEqual(t, rotation.ID, w.propose(f.ns, named("after"))[0].KeyOp)
	require.NotContains(t, w.holders(), is("M"))
}

// 6: a member who may admit others admits very many. One op removes them all, with whom
// has let them in.
func TestAttackTooManyToRotateTo(t *testing.T) {
	f := opening(t)
	f.op("Z", codec.GroupOp{Kind: codec.OpMemberCapabilitySet, Member: is("M"), Capabilities: codec.ManageMembers})
	gone := codec.GroupOp{Kind: codec.OpMembersRemoved, Members: all("M")}
	for n := range 60 {
		puppet := group.IdentityOf(codec.Secret{byte(n), 9})
		require.NotNil(t, f.op("M", codec.GroupOp{Kind: codec.OpMemberAdded, Member: puppet, Role: codec.Member}))
		gone.Members = append(gone.Members, puppet)
	}
	slices.SortFunc(gone.Members, compare)
	w := f.holding(t, "Z")
	defer w.close()
	require.Len(t, w.check().Members(f.ns), 64)
	w.propose(f.ns, gone)
	require.ElementsMatch(t, all("Z", "K", "L"), w.check().Members(f.ns))
	w.propose(f.ns, named("goes on"))
	require.ElementsMatch(t, all("Z", "K", "L"), w.holders())
}

// took takes down what the node has made.
func (w *witness) took(done namespace.Proposed) {
	for _, wire := range done.Wire {
		s, err := codec.SignedNamespaceOp{}.Decode(wire)
		require.NoError(w.t, err)
		op, err := namespace.Check(&s)
		require.NoError(w.t, err)
		w.forge.ops, w.forge.byID[op.ID] = append(w.forge.ops, op), op
		w.keepKeys(op)
		w.note(op)
	}
}

// P10 and P8b. Hostile members, who may be removed, and have accomplices who were never let
// in, draw any ops that the formats have: on old cuts, garbage, for some, and hand keys
// that one of them holds to whom they like; while honest members act as their nodes do, and
// each sees what it happens to. Whatever came of it: an Admin can remove each of the hostile, make a key that exactly
// the members hold, and go on; all nodes agree on who may do what; and with every byte and
// what it ever held no node of who is gone opens what was sealed then.
func TestWhateverHostileMembersDoAnAdminGoesOn(t *testing.T) {
	late := lateOpening(t)
	bases := []*forge{opening(t), late, late}
	enginetest.Check(t, 60, func(t *rapid.T) {
		c := newDishonestNetwork(t, bases[rapid.IntRange(0, 2).Draw(t, "late opening")], "Z", "K", "L", "M")
		defer c.close()
		checkThatAnAdminGoesOn(t, c)
	})
}

// The same of daemons, which are given ops and asked for theirs over their sockets.
func TestWhateverHostileMembersDoAnAdminOfADaemonGoesOn(t *testing.T) {
	late := lateOpening(t)
	bases := []*forge{opening(t), late, late}
	enginetest.Check(t, 4, func(t *rapid.T) {
		c := newDishonestNetwork(t, bases[rapid.IntRange(0, 2).Draw(t, "late opening")], "Z", "K", "L", "M")
		defer c.close()
		for _, w := range c.nodes {
			w.serve()
		}
		checkThatAnAdminGoesOn(t, c)
	})
}

func checkThatAnAdminGoesOn(t *rapid.T, c *dishonestNetwork) {
	hostile := []string{"M", "A", "B", "X"}
	acting := append([]string{"M", "M"}, hostile...) // M, who is a member before the others, oftener
	honest := []*witness{c.nodes["Z"], c.nodes["K"], c.nodes["L"]}
	if rapid.Bool().Draw(t, "trusted") {
		c.nodes["Z"].propose(c.ns, codec.GroupOp{Kind: codec.OpMemberCapabilitySet, Member: is("M"), Capabilities: codec.AllCapabilities})
	}
	admins := honest
	if rapid.IntRange(0, 3).Draw(t, "the founder goes") == 0 {
		admins = honest[1:]
		c.nodes["Z"].propose(c.ns, codec.GroupOp{Kind: codec.OpAdminTransferred, Member: is("K")})
		c.nodes["Z"].propose(c.ns, codec.GroupOp{Kind: codec.OpMemberLeft})
	}
	for range rapid.IntRange(2, 12).Draw(t, "steps") {
		before := len(c.ops)
		switch name := rapid.SampledFrom(acting).Draw(t, "hostile"); rapid.IntRange(0, 12).Draw(t, "what") {
		case 0, 1:
			c.drawLeak(t, name, c.ns, c.drawParents(t), hostile...)
		case 2:
			c.drawDelivery(t, name, c.ns, c.drawParents(t), c.held(hostile...))
		case 6:
			c.drawAgain(t, name, c.ns, c.drawParents(t), c.held(hostile...))
		case 7, 10, 11:
			c.drawBackdated(t, acting)
		case 8, 12:
			c.drawHidden(t, name)
		case 9:
			c.drawOdd(t, name, c.ns, c.drawParents(t))
		case 3:
			c.in(c.ns, name, c.drawBody(t), c.drawParents(t)...)
		case 4:
			c.root(name, c.drawRoot(t, name, c.ns), c.drawParents(t)...)
		default:
			w := honest[rapid.IntRange(0, len(honest)-1).Draw(t, "honest")]
			body := named(fmt.Sprint("name", rapid.IntRange(0, 9).Draw(t, "name")))
			_, _ = w.try(namespace.Proposal{GroupID: c.ns, Group: &body})
		}
		for _, op := range c.ops[before:] { // some hear of it
			for _, w := range honest {
				if w.has[op.ID] == nil && rapid.Bool().Draw(t, "hears") {
					w.give(op)
				}
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "meet") == 0 {
			c.meet(t)
			honest[rapid.IntRange(0, len(honest)-1).Draw(t, "asked")].requireHolders()
		}
	}
	admin := admins[rapid.IntRange(0, len(admins)-1).Draw(t, "admin")]
	for _, op := range slices.Clone(c.ops) {
		if admin.has[op.ID] == nil {
			admin.give(op)
		}
	}
	result := admin.check()
	var gone codec.GroupOp
	for _, name := range hostile {
		if slices.Contains(result.Members(c.ns), is(name)) {
			gone.Members = append(gone.Members, is(name))
		}
	}
	if gone.Kind = codec.OpMembersRemoved; len(gone.Members) > 0 {
		slices.SortFunc(gone.Members, compare)
		admin.propose(c.ns, gone)
	}
	made := admin.propose(c.ns, named("governed"))
	last := made[len(made)-1]
	result = admin.check()
	require.Equal(t, group.Effective, result.Verdicts[last.ID].Outcome)
	for _, name := range hostile {
		require.NotContains(t, result.Members(c.ns), is(name))
	}
	id, clear, whole := c.good(namespace.KeyName{GroupID: c.ns, Op: last.KeyOp})
	require.True(t, clear && whole)
	nodes := append(slices.Clone(honest), c.nodes["M"], c.holding(t, "X"))
	defer nodes[4].close()
	for _, w := range nodes {
		for _, op := range slices.Clone(c.ops) {
			if w.has[op.ID] == nil {
				w.give(op)
			}
		}
		w.check()
		require.Equal(t, nodes[0].authority(), w.authority(), w.name)
		_, has := w.ring()[namespace.GroupKey{GroupID: c.ns, KeyID: id}]
		require.Equal(t, slices.Contains(result.Members(c.ns), is(w.name)), has, "%s, whom the key is for", w.name)
	}

	// Once the Admin has made a key, what it can't read has no effect for anybody, and what it
	// can all members read.
	done, err := admin.store.Rotate(context.Background(), c.ns, true)
	require.NoError(t, err)
	admin.took(done)
	result = admin.check()
	for _, w := range honest {
		for _, op := range slices.Clone(c.ops) {
			if w.has[op.ID] == nil {
				w.give(op)
			}
		}
		theirs := w.check()
		w.requireHolders()
		if slices.Contains(result.Members(c.ns), is(w.name)) {
			require.Equal(t, effective(result), effective(theirs), w.name)
		}
	}
}

// effective returns the ops that have effect.
func effective(r *group.Result) map[codec.OpID]bool {
	found := map[codec.OpID]bool{}
	for id, v := range r.Verdicts {
		if v.Outcome == group.Effective {
			found[id] = true
		}
	}
	return found
}

// requireHolders demands that the node knows of each key who holds it.
func (w *witness) requireHolders() {
	infos, err := w.store.Keys(w.ns)
	require.NoError(w.t, err)
	for _, info := range infos {
		want, err := namespace.Holders(w.ns, slices.Collect(maps.Values(w.has)), w.ring(), namespace.KeyName{GroupID: w.ns, Op: info.Op})
		require.NoError(w.t, err)
		got := map[codec.Identity]bool{}
		for _, id := range info.Holders {
			got[id] = true
		}
		require.Equal(w.t, want, got, "who holds the key of %s", info.Op)
	}
}

// drawAgain has one introduce a key anew that it, or a friend, holds.
func (c *dishonestNetwork) drawAgain(t *rapid.T, signer string, g codec.GroupID, parents []codec.OpID, holds func(codec.Secret) bool) {
	s := c.draft(signer, parents)
	all := c.heldAt(s.Parents, g, holds)
	if len(all) == 0 {
		return
	}
	to := c.members(s.Parents, g)
	if len(to) == 0 || rapid.Bool().Draw(t, "for others") {
		to = c.drawPeople(t)
	}
	made, err := namespace.IntroduceKey(s, g, rapid.SampledFrom(all).Draw(t, "again").key, nil, to)
	require.NoError(t, err)
	c.clear(s, g, codec.GroupOp{Kind: codec.OpKeyRotated}, made)
}

// drawBackdated has somebody of the hostile hand a key to another, who hands it on beside that, as if
// it had held it before.
func (c *dishonestNetwork) drawBackdated(t *rapid.T, hostile []string) {
	giver, friend := rapid.SampledFrom(hostile).Draw(t, "giver"), rapid.SampledFrom(hostile).Draw(t, "friend")
	parents := c.draft(giver, c.drawParents(t)).Parents
	held := c.heldAt(parents, c.ns, c.held(hostile...))
	if len(held) == 0 {
		return
	}
	key := rapid.SampledFrom(held).Draw(t, "key")
	c.deliver(c.ns, giver, key, all(friend), parents...)
	to := c.members(parents, c.ns)
	if len(to) == 0 || rapid.Bool().Draw(t, "others") {
		to = c.drawPeople(t)
	}
	c.deliver(c.ns, friend, key, to, parents...)
}

// drawHidden has somebody make a good key at an old cut, for those who were members then, and act
// under it.
func (c *dishonestNetwork) drawHidden(t *rapid.T, signer string) {
	at := c.ops[rapid.IntRange(0, min(5, len(c.ops)-1)).Draw(t, "early")].ID
	if rapid.Bool().Draw(t, "any time") {
		at = c.drawOp(t).ID
	}
	to := c.members([]codec.OpID{at}, c.ns)
	if len(to) == 0 {
		return
	}
	made := c.rotated(c.ns, signer, nil, to, at)
	if made == nil {
		return
	}
	key, _ := c.keyAt([]codec.OpID{made.ID}, c.ns)
	c.rogue[signer] = append(c.rogue[signer], key.key)
	s := c.draft(signer, []codec.OpID{made.ID})
	c.sealed(s, c.ns, key, c.inner(s, c.ns, registered(codec.ContextID{byte(rapid.IntRange(7, 9).Draw(t, "room"))})))
}
