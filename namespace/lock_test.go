package namespace

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

// changing is an engine that notes the key of each change that is made.
type changing struct {
	engine.Engine
	keys map[string]int
}

func (c *changing) Apply(b *engine.Batch) error {
	for op, err := range b.Ops {
		if err != nil {
			return err
		}
		c.keys[fmt.Sprintf("%s %d %x", op.Column, op.Kind, op.Key)]++
	}
	return c.Engine.Apply(b)
}

// What a node has of one namespace says nothing of what it has of another; and each change
// is written once, however many there are.
func TestLockingANamespaceLeavesTheOthersAsTheyAre(t *testing.T) {
	db := &changing{Engine: mem.New(), keys: map[string]int{}}
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	s := openStore(t, db, 1)
	var ids []codec.GroupID
	var rooms []codec.ContextID
	for range 2 {
		ns, _ := created(t, s)
		room, err := s.NewContextKey()
		require.NoError(t, err)
		proposed(t, s, ns, ns, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: room})
		ids, rooms = append(ids, ns), append(rooms, room)
	}
	require.NoError(t, s.Close())
	clear(db.keys)
	require.NoError(t, Lock(t.Context(), db, db, ids[:1], func(key []byte, err error) error {
		t.Errorf("op %x is lost: %v", key, err)
		return nil
	}))
	require.NotEmpty(t, db.keys)
	for key, n := range db.keys {
		require.Equal(t, 1, n, key)
	}
	for i := range ids {
		has, err := engine.Has(db, keys.ContextGroupRef{Context: rooms[i]})
		require.NoError(t, err)
		require.Equal(t, i == 1, has)
		claims, err := claimsOn(db, rooms[i])
		require.NoError(t, err)
		require.Equal(t, i == 1, claims[ids[i]].Group == ids[i])
	}
}

// In a store whose ops can all be read, rows are of no namespace unless an op says so.
func TestRowsOfNoNamespaceFollowFromNoOps(t *testing.T) {
	s := newStore(t, 1)
	ns, _ := created(t, s)
	room, err := s.NewContextKey()
	require.NoError(t, err)
	proposed(t, s, ns, ns, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: room})
	rows, err := GovernedIn(s.db, nil)
	require.NoError(t, err)
	stranger := codec.ContextID{9}
	for context, want := range map[codec.ContextID]bool{room: true, stranger: false} {
		follows, err := rows.Derives(column.Config, context[:], nil)
		require.NoError(t, err)
		require.Equal(t, want, follows)
	}
}

// The place of an op is of its namespace even if its number is cut off.
func TestPlacesOfOpsAreOfTheirNamespace(t *testing.T) {
	want := codec.GroupID{7}
	whole := numbered(opScope, want, 1)
	for n := range whole {
		ns, ok := OfOp(column.Generic, whole[:n])
		require.Equal(t, n >= len(opScope)+32, ok)
		require.Equal(t, ok, ns == want)
	}
}

// unreadable is an engine of which one row of Generic cannot be read.
type unreadable struct {
	engine.Engine
	key []byte
}

func (u *unreadable) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	if col == column.Generic && u.key != nil && bytes.Equal(key, u.key) {
		return dst, faulty.ErrInjected
	}
	return u.Engine.Get(dst, col, key)
}

// Where a store cannot say whether the claims are there, nothing is written on a guess.
func TestClaimsThatCannotBeReadAreAnError(t *testing.T) {
	db := &unreadable{Engine: mem.New(), key: claimKey(codec.ContextID{}, codec.GroupID{})}
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	s := openStore(t, db, 1)
	_, _, err := s.Create(t.Context(), Create{})
	require.ErrorIs(t, err, faulty.ErrInjected)
	db.key = nil
	ns, _ := created(t, s)
	requireSound(t, s, ns)
}

// A node whose clock was set back still places a context after what its key has signed.
func TestPlacementsGoForwardThoughTheClockGoesBack(t *testing.T) {
	at := time.UnixMicro(1_000_000)
	s, err := Open(mem.New(), Options{Now: func() time.Time { return at }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	ns, _ := created(t, s)
	room, err := s.NewContextKey()
	require.NoError(t, err)
	proposed(t, s, ns, ns, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: room})
	at = at.Add(-time.Second / 2)
	op, err := s.Place(room, ns, ns)
	require.NoError(t, err)
	require.EqualValues(t, 1_000_001, op.Number)
}
