package record

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/document"
)

// A collection under another name is what its own declaration says, and has the schema
// that is compiled already.
func TestACollectionUnderAnotherNameIsAsDeclaredUnderIt(t *testing.T) {
	elsewhere, err := document.Canonical([]byte(workerJSON))
	require.NoError(t, err)
	elsewhere = document.Merge(elsewhere, json.RawMessage(`{"keys":[{"pattern":"worker:{worker_id}"},{"pattern":"workers:{worker_id}"},{"pattern":"hands:worker:{worker_id}"}]}`))
	for _, declaration := range []string{taskJSON, entryJSON, workerJSON, string(elsewhere)} {
		c, before := parse(t, declaration), parse(t, declaration)
		c.Prepare = func(doc json.RawMessage) (json.RawMessage, error) { return doc, nil }
		c.Check = func(*Tx, Doc, Doc) error { return nil }
		c.Placer = func(json.RawMessage) (Placer, error) { return nil, nil }
		c.Loaded = func(context.Context, string) (func(*Tx, Doc) error, error) { return nil, nil }
		n, err := c.Named("other.v2")
		require.NoError(t, err)
		asDeclared := parse(t, string(n.Declaration()))
		require.Equal(t, "other.v2", asDeclared.Name)
		require.Equal(t, asDeclared.Name, n.Name)
		require.Equal(t, string(asDeclared.Declaration()), string(n.Declaration()), "it is in canonical form")
		require.Equal(t, asDeclared.Keys, n.Keys)
		require.Same(t, c.schema, n.schema)
		require.True(t, n.Prepare == nil && n.Check == nil && n.Placer == nil && n.Loaded == nil)
		require.Equal(t, before.Keys, c.Keys, "the one that it is made of stays what it is")
		require.Equal(t, string(before.Declaration()), string(c.Declaration()))
	}
	n, err := parse(t, string(elsewhere)).Named("other")
	require.NoError(t, err)
	require.Equal(t, "other:{worker_id}", n.Keys[0].Pattern)
	require.Equal(t, "workers:{worker_id}", n.Keys[1].Pattern, "another name")
	require.Equal(t, "hands:worker:{worker_id}", n.Keys[2].Pattern, "it does not begin with the name")
	_, err = parse(t, workerJSON).Named("No Name")
	refused(t, err, CodeInvalidArgument, "name")
}
