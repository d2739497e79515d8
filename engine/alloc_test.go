package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

// nothing is a Sink that keeps nothing.
type nothing struct{}

func (nothing) Get(dst []byte, _ column.Column, _ []byte) ([]byte, error) {
	return append(dst, 1, 0, 0, 0, 0, 0, 0, 0), nil
}
func (nothing) Write([]byte, bool) error { return nil }

func TestFixedSizeRecordsAreReadAndWrittenWithoutAllocations(t *testing.T) {
	if race {
		t.Skip("the race detector empties pools at random")
	}
	db, c := mem.New(), engine.NewCommitter(nothing{})
	defer db.Close()
	member := keys.GroupMember{Group: codec.GroupID{1}, Identity: codec.Identity{2}}
	nonce := keys.GroupLocalGovNonce{Group: codec.GroupID{1}, Signer: codec.Identity{2}}
	var b engine.Batch
	engine.Put(&b, member, codec.ReadOnly)
	require.NoError(t, db.Apply(&b))
	bump := func(g engine.Getter, b *engine.Batch) error {
		n, err := engine.Get(g, nonce)
		engine.Put(b, nonce, n+1)
		return err
	}
	for name, use := range map[string]func() error{
		"Get":           func() error { _, err := engine.Get(db, member); return err },
		"Has":           func() error { _, err := engine.Has(db, member); return err },
		"Put, Apply":    func() error { b.Reset(); engine.Put(&b, nonce, 7); return c.Apply(&b) },
		"Delete, Apply": func() error { b.Reset(); engine.Delete(&b, nonce); return c.Apply(&b) },
		"Expect, Apply": func() error { b.Reset(); engine.Expect(&b, nonce, 1); engine.Put(&b, nonce, 2); return c.Apply(&b) },
		"Update":        func() error { return c.Update(bump) },
		"WAL": func() error {
			b.Reset()
			b.Durability = engine.WAL
			engine.Put(&b, member, codec.Admin)
			return c.Apply(&b)
		},
	} {
		require.NoError(t, use(), name)
		require.Zero(t, testing.AllocsPerRun(200, func() { _ = use() }), name)
	}
}
