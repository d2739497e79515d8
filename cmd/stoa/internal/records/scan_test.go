package records

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

// scanned returns the keys that a scan with these flags lists, in hex.
func scanned(t *testing.T, store engine.Reader, typ string, args ...string) (found []string) {
	var f scanFlags
	fs := pflag.NewFlagSet("scan", pflag.ContinueOnError)
	f.register(fs)
	require.NoError(t, fs.Parse(args))
	target := target{column: column.Blobs}
	if typ != "" {
		target.info, _ = keys.ByName(typ)
	}
	s, err := f.scan(target)
	require.NoError(t, err)
	require.NoError(t, s.each(store, func(r row) error {
		found = append(found, hex.EncodeToString(r.key))
		return nil
	}))
	return found
}

func TestAScanOfBlobsSkipsTheChunksInBothDirections(t *testing.T) {
	store := mem.New()
	t.Cleanup(func() { _ = store.Close() })
	var ids []string
	var b engine.Batch
	for id := range byte(4) {
		key := bytes.Repeat([]byte{id * 85}, 32) // 0, 0x55, 0xAA, 0xFF
		ids = append(ids, hex.EncodeToString(key))
		b.Put(column.Blobs, key, make([]byte, 44))
		for chunk := range id * 40 {
			b.Put(column.Blobs, append(bytes.Clone(key), 0, 0, 0, chunk), []byte("chunk"))
		}
	}
	require.NoError(t, store.Apply(&b))

	require.Equal(t, ids, scanned(t, store, "BlobMeta"))
	require.Equal(t, ids[:2], scanned(t, store, "BlobMeta", "--limit", "2"))
	require.Equal(t, []string{ids[3], ids[2], ids[1], ids[0]}, scanned(t, store, "BlobMeta", "--reverse"))
	require.Equal(t, []string{ids[3], ids[2]}, scanned(t, store, "BlobMeta", "--reverse", "--limit", "2"))
	require.Equal(t, ids[1:3], scanned(t, store, "BlobMeta", "--from", "01", "--to", "AB"))
	require.Len(t, scanned(t, store, "BlobChunk"), 40+80+120)
	require.Len(t, scanned(t, store, ""), 4+40+80+120)
	require.Len(t, scanned(t, store, "", "--limit", "7"), 7)
}

func TestARecordThatDoesNotParseEndsAScanAsDamage(t *testing.T) {
	store := mem.New()
	t.Cleanup(func() { _ = store.Close() })
	var b engine.Batch
	key := append([]byte{0x25}, bytes.Repeat([]byte{7}, 64)...)
	b.Put(column.Group, key, []byte("canary"))
	require.NoError(t, store.Apply(&b))

	var out, errs strings.Builder
	p := &cli.Process{Stdout: &out, Stderr: &errs}
	err := emitRows(p, scan{column: column.Group}, store, false)
	f := cli.Explain(err)
	require.Equal(t, cli.ExitDamage, f.Code)
	require.ErrorContains(t, err, "Group "+hex.EncodeToString(key))
	require.NotContains(t, err.Error(), "canary")
	require.NotContains(t, err.Error(), hex.EncodeToString([]byte("canary")))
	require.Empty(t, out.String())
}

// In a directory what does not parse is listed, and what follows too.
func TestAScanOfADirectoryGoesOnBehindRecordsThatDoNotParse(t *testing.T) {
	store := mem.New()
	t.Cleanup(func() { _ = store.Close() })
	var b engine.Batch
	secret := append([]byte{0x25}, bytes.Repeat([]byte{7}, 64)...)
	b.Put(column.Group, secret, []byte("canary"))
	b.Put(column.Group, []byte{0x99}, []byte("canary"))
	member := keys.GroupMember{Group: codec.GroupID{1}, Identity: codec.Identity{2}}
	engine.Put(&b, member, codec.GroupMemberRole(0))
	require.NoError(t, store.Apply(&b))
	source := inspect.From(store, inspect.Facts{})

	for _, reverse := range []bool{false, true} {
		var out, errs strings.Builder
		p := &cli.Process{Stdout: &out, Stderr: &errs}
		err := emitRows(p, scan{column: column.Group, window: engine.Range{Reverse: reverse}}, source, false)
		require.Equal(t, cli.ExitDamage, cli.Explain(err).Code)
		require.ErrorContains(t, err, "2 places could not be read")
		require.Equal(t, 1, strings.Count(out.String(), "\n"))
		require.Contains(t, out.String(), "GroupMember  ")
		require.Contains(t, errs.String(), "value  Group "+hex.EncodeToString(secret)+"  ")
		require.Contains(t, errs.String(), "key  Group 99  ")
		require.Contains(t, errs.String(), "1 record\n")
		require.NotContains(t, errs.String(), "canary")
		require.NotContains(t, errs.String(), hex.EncodeToString([]byte("canary")))
	}
}
