package namespace

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

// counting is an engine that notes how many changes the last batch had.
type counting struct {
	engine.Engine
	last int
}

func (c *counting) Apply(b *engine.Batch) error {
	c.last = b.Len()
	return c.Engine.Apply(b)
}

// However many rows a group has, its deletion is one batch with a few changes, besides
// those of rows that are kept by context; and where the deletion turns out to be void
// they come back.
func TestALargeGroupIsDeletedByRanges(t *testing.T) {
	z, k, ns := pairOf(t)
	made, err := z.Propose(bg, ns, Proposal{Root: &codec.RootOp{Kind: codec.RootGroupCreated, ParentID: ns}})
	require.NoError(t, err)
	groups, err := z.Tree(ns)
	require.NoError(t, err)
	sub := groups[1].ID
	require.NotEmpty(t, made.Wire)
	proposed(t, z, ns, sub, add("K", codec.Admin))
	const contexts = 60
	self, err := z.Identity(ns)
	require.NoError(t, err)
	for i := range contexts {
		c := codec.ContextID{1, byte(i)}
		proposed(t, z, ns, sub, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: c})
		proposed(t, z, ns, sub, codec.GroupOp{Kind: codec.OpContextJoined, ContextID: c, Identity: codec.Identity{7}})
		proposed(t, z, ns, sub, codec.GroupOp{Kind: codec.OpContextCapabilitySet, ContextID: c, Member: self, Capability: codec.Some(codec.ContextCapability(1))})
	}
	exchange(t, ns, z, k)
	before := derivedRows(t, z.db, ns)
	require.NoError(t, k.Close())
	db := &counting{Engine: k.db}
	k = openStore(t, db, 5)

	deletion, err := k.Propose(bg, ns, Proposal{Root: &codec.RootOp{Kind: codec.RootGroupDeleted, GroupID: sub}})
	require.NoError(t, err)
	require.Less(t, db.last, 3*contexts+40)
	requireSound(t, k, ns)
	left := derivedRows(t, k.db, ns)
	require.Less(t, len(left), len(before)-4*contexts+1)

	proposed(t, z, ns, ns, remove("K"))
	z = z.reopened(t, 6)
	exchange(t, ns, z, k)
	for _, s := range []*Store{z, k} {
		requireSound(t, s, ns)
		info, err := s.Op(ns, deletion.Answer.ID)
		require.NoError(t, err)
		require.Equal(t, "void: right revoked", info.Verdict.String())
	}
	require.Equal(t, derivedRows(t, z.db, ns), derivedRows(t, k.db, ns))
	require.GreaterOrEqual(t, len(derivedRows(t, k.db, ns)), len(before)-2) // K is no member

	again := mem.New()
	defer again.Close()
	fresh := openStore(t, again, 7)
	exchange(t, ns, z, fresh)
	requireSound(t, fresh, ns)
}

// derivedRows returns the rows of the Group column that follow from the ops and are not a
// node's own.
func derivedRows(t testing.TB, r engine.Reader, ns codec.GroupID) map[string]string {
	rows := rowsOf(t, r)
	for key := range rows {
		switch {
		case len(key) < 8 || key[:6] != "Group ":
			delete(rows, key)
		case key[6:8] == "30", key[6:8] == "31", key[6:8] == "37", key[6:8] == "38", key[6:8] == "39", key[6:8] == "3a":
			delete(rows, key)
		}
	}
	return rows
}
