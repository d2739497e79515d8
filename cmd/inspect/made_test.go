package inspect

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

// codesOf returns the codes of what a verification finds, each once, sorted.
func codesOf(t *testing.T, r engine.Reader, facts Facts, full bool) (codes []string) {
	_, err := Verify(t.Context(), From(r, facts), VerifyOptions{Full: full}, func(f Finding) error {
		codes = append(codes, f.Code)
		return nil
	})
	require.NoError(t, err)
	slices.Sort(codes)
	return slices.Compact(codes)
}

func scoped(name string, fragment ...byte) keys.Generic {
	s, err := keys.NewScope(name)
	if err != nil {
		panic(err)
	}
	return keys.Generic{Scope: s, Fragment: keys.NewBytes(fragment)}
}

// blobOf puts a blob of so many bytes, but for the chunks that are left out.
func blobOf(b *engine.Batch, size int, without ...uint32) codec.BlobID {
	content := make([]byte, size)
	id := codec.BlobID(sha256.Sum256(content))
	chunks := uint32((size + codec.ChunkSize - 1) / codec.ChunkSize)
	engine.Put(b, keys.BlobMeta{Blob: id}, codec.BlobMeta{Size: uint64(size), Hash: codec.Hash(id), Chunks: chunks})
	for i := range chunks {
		if !slices.Contains(without, i) {
			from := int(i) * codec.ChunkSize
			engine.Put(b, keys.BlobChunk{Blob: id, Index: i}, codec.BlobChunk(content[from:min(from+codec.ChunkSize, size)]))
		}
	}
	return id
}

// secret is a private key and a public one that is or is not its own.
func secret(own bool) codec.NamespaceIdentityValue {
	seed := codec.Secret{1}
	v := codec.NamespaceIdentityValue{PrivateKey: seed, SenderKey: codec.Secret{2}}
	copy(v.PublicKey[:], publicKey(seed))
	if !own {
		copy(v.PublicKey[:], publicKey(codec.Secret{3}))
	}
	return v
}

// Each of these stores has one thing wrong, and it is found: no more, no less.
func TestWhatIsWrongIsFound(t *testing.T) {
	ctx, g, h := codec.ContextID{1}, codec.GroupID{1}, codec.GroupID{2}
	stamp := codec.HybridTimestamp{Time: 1, ID: codec.NodeID{Lo: 1}}
	order := func(seq byte) keys.Generic {
		return scoped("dag-order", append(append(ctx[:], make([]byte, 7)...), seq)...)
	}
	place := append(make([]byte, 32), make([]byte, 24)...)
	place[32], place[32+8] = 1, 1
	for _, c := range []struct {
		what  string
		codes []string
		full  bool
		facts Facts
		put   func(b *engine.Batch)
	}{
		{what: "nothing", put: func(b *engine.Batch) { blobOf(b, 3*codec.ChunkSize+5) }, full: true},
		{what: "a manifest that is cut", codes: []string{"manifest-cut"}, facts: Facts{Cut: "it ends early"}},
		{what: "a table that nothing lists", codes: []string{"table-unlisted"}, facts: Facts{Unlisted: []string{"000009.sst"}}},
		{what: "a log that is cut", codes: []string{"log-cut"}, facts: Facts{Logs: []string{"000009.log"}}},
		{what: "changes that are gone", codes: []string{"lost"}, facts: Facts{Lost: 3}},
		{what: "a watermark that is damaged", codes: []string{"marks"}, facts: Facts{Problems: []string{"stoa.watermark"}}},
		{what: "a family that nobody knows", codes: []string{"schema"}, facts: Facts{Unknown: []string{"Other"}}},
		{what: "an import that was broken off", codes: []string{"unfinished"}, facts: Facts{Unfinished: "import"}},
		{what: "a plain secret where secrets are sealed", codes: []string{"plain-secret"}, facts: Facts{Sealed: true}, put: func(b *engine.Batch) {
			engine.Put(b, keys.NamespaceIdentity{Namespace: g}, secret(true))
		}},
		{what: "a sealed secret where none are", codes: []string{"sealed"}, put: func(b *engine.Batch) {
			k, _ := keys.NamespaceIdentity{Namespace: g}.AppendBinary(nil)
			b.Put(column.Group, k, append([]byte("STS1"), make([]byte, 8+24+16+96)...))
		}},
		{what: "an identity with another's public key", codes: []string{"key-id"}, full: true, put: func(b *engine.Batch) {
			engine.Put(b, keys.NamespaceIdentity{Namespace: g}, secret(false))
		}},
		{what: "a head that is no delta", codes: []string{"head-missing"}, put: func(b *engine.Batch) {
			engine.Put(b, keys.ContextMeta{Context: ctx}, codec.ContextMetaValue{DagHeads: []codec.DeltaID{{1}}})
		}},
		{what: "a head that waits", codes: []string{"head-pending"}, put: func(b *engine.Batch) {
			engine.Put(b, keys.ContextMeta{Context: ctx}, codec.ContextMetaValue{DagHeads: []codec.DeltaID{{1}}})
			engine.Put(b, keys.ContextDagDelta{Context: ctx, Delta: codec.DeltaID{1}}, codec.ContextDagDeltaValue{DeltaID: codec.DeltaID{1}, HLC: stamp})
		}},
		{what: "an order with a gap", codes: []string{"order-gap"}, put: func(b *engine.Batch) {
			engine.Put(b, order(1), codec.Raw(place))
			engine.Put(b, order(3), codec.Raw(place))
		}},
		{what: "an op log without a head", codes: []string{"op-head-missing"}, put: func(b *engine.Batch) {
			engine.Put(b, keys.GroupOpLog{Group: g, Seq: keys.NewSeq(1)}, codec.OpLogValue{})
		}},
		{what: "a manifest of another blob", codes: []string{"blob-manifest"}, put: func(b *engine.Batch) {
			engine.Put(b, keys.BlobMeta{Blob: codec.BlobID{1}}, codec.BlobMeta{Hash: codec.Hash{2}})
		}},
		{what: "a manifest with too few chunks", codes: []string{"blob-manifest"}, put: func(b *engine.Batch) {
			engine.Put(b, keys.BlobMeta{Blob: codec.BlobID{1}}, codec.BlobMeta{Hash: codec.Hash{1}, Size: 1})
		}},
		{what: "a blob without its first chunk", codes: []string{"blob-chunk"}, full: true, put: func(b *engine.Batch) { blobOf(b, 2*codec.ChunkSize, 0) }},
		{what: "a blob without its last chunk", codes: []string{"blob-chunk"}, full: true, put: func(b *engine.Batch) { blobOf(b, 2*codec.ChunkSize, 1) }},
		{what: "a last blob without any chunk", codes: []string{"blob-chunk"}, put: func(b *engine.Batch) { blobOf(b, 5, 0) }},
		{what: "a blob whose last chunk is short", codes: []string{"blob-chunk"}, full: true, put: func(b *engine.Batch) {
			engine.Put(b, keys.BlobChunk{Blob: blobOf(b, 5), Index: 0}, codec.BlobChunk("abcd"))
		}},
		{what: "a blob with another content", codes: []string{"blob-hash"}, full: true, put: func(b *engine.Batch) {
			engine.Put(b, keys.BlobChunk{Blob: blobOf(b, 5), Index: 0}, codec.BlobChunk("abcde"))
		}},
		{what: "a delta under another's id", codes: []string{"context-missing", "delta-id"}, full: true, put: func(b *engine.Batch) {
			engine.Put(b, keys.ContextDagDelta{Context: ctx, Delta: codec.DeltaID{1}}, codec.ContextDagDeltaValue{DeltaID: codec.DeltaID{2}, HLC: stamp})
		}},
		{what: "an applied delta whose parent is not there", codes: []string{"context-missing", "delta-parent"}, full: true, put: func(b *engine.Batch) {
			engine.Put(b, keys.ContextDagDelta{Context: ctx, Delta: codec.DeltaID{1}}, codec.ContextDagDeltaValue{
				DeltaID: codec.DeltaID{1}, Parents: []codec.DeltaID{{2}}, HLC: stamp, Applied: true})
		}},
		{what: "an application whose code is not there", codes: []string{"application-blob"}, full: true, put: func(b *engine.Batch) {
			engine.Put(b, keys.ApplicationMeta{App: codec.ApplicationID{1}}, codec.ApplicationMeta{ApplicationID: codec.ApplicationID{1}, Bytecode: codec.BlobID{1}})
		}},
		{what: "a service whose code is not there", codes: []string{"application-blob"}, full: true, put: func(b *engine.Batch) {
			id := blobOf(b, 5)
			engine.Put(b, keys.ApplicationMeta{App: codec.ApplicationID{1}}, codec.ApplicationMeta{ApplicationID: codec.ApplicationID{1}, Bytecode: id,
				Compiled: id, Services: []codec.ServiceMeta{{Name: "s", Bytecode: id, Compiled: codec.BlobID{9}}}})
		}},
		{what: "a group that is above itself", codes: []string{"group-cycle"}, full: true, put: func(b *engine.Batch) {
			for child, parent := range map[codec.GroupID]codec.GroupID{g: h, h: g} {
				engine.Put(b, keys.GroupParentRef{Child: child}, codec.ParentRefValue{ParentID: parent})
				engine.Put(b, keys.GroupChildIndex{Parent: parent, Child: child}, codec.Present{})
			}
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			e := mem.New()
			defer e.Close()
			if c.put != nil {
				var b engine.Batch
				c.put(&b)
				require.NoError(t, e.Apply(&b))
			}
			require.Equal(t, c.codes, codesOf(t, e, c.facts, c.full))
		})
	}
}

func TestFindingsOfAContextBeyondAThousandAreCounted(t *testing.T) {
	e := mem.New()
	defer e.Close()
	s, err := dag.Open(e, dag.Options{Node: codec.NodeID{Lo: 1}})
	require.NoError(t, err)
	ctx := codec.ContextID{1}
	require.NoError(t, s.CreateContext(ctx, codec.ApplicationMeta{}))
	var actions []codec.Action
	for i := range dag.MaxFindings + 10 {
		actions = append(actions, codec.Put(fmt.Appendf(nil, "k%d", i), nil))
	}
	_, err = s.Commit(t.Context(), dag.Commit{Context: ctx, Actions: actions, ReadRoot: merkle.EmptyRoot()})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	var b engine.Batch
	b.DeleteRange(column.State, ctx[:], []byte{2})
	require.NoError(t, e.Apply(&b))
	require.Equal(t, []string{"dag-more", "dag-state"}, codesOf(t, e, Facts{}, true))
}

// unreadable is a store of which the rows of key-values cannot be scanned.
type unreadable struct{ engine.Reader }

func (u unreadable) Iterate(c column.Column, r engine.Range) (*engine.Iterator, error) {
	if c == column.Generic && len(r.Start) > 0 && r.Start[0] == 0 {
		return nil, fmt.Errorf("%w: a block", engine.ErrCorrupt)
	}
	return u.Reader.Iterate(c, r)
}

func TestKeyValuesThatCannotBeReadAreAFinding(t *testing.T) {
	e := mem.New()
	defer e.Close()
	fillKeyValues(t, e)
	require.Contains(t, codesOf(t, unreadable{e}, Facts{}, true), "kv-damaged")
}

// Whatever holds a value that does not parse, it is shown by length and digest
// unless it is asked for: it may be a private key in a form that nobody knows.
func TestValuesThatDoNotParseAreNotShown(t *testing.T) {
	member, _ := keys.GroupMember{Group: codec.GroupID{1}, Identity: codec.Identity{2}}.AppendBinary(nil)
	identity, _ := keys.ContextIdentity{Context: codec.ContextID{1}}.AppendBinary(nil)
	value := []byte("a private key of another program")
	for _, c := range []struct {
		col column.Column
		key []byte
	}{{column.Group, member}, {column.Identity, identity}, {column.Group, []byte{0x99}}, {column.Meta, []byte("short")}} {
		hidden, err := json.Marshal(NewPrinter(mem.New(), false).Record(c.col, c.key, value))
		require.NoError(t, err)
		require.NotContains(t, string(hidden), hex.EncodeToString(value[:4]), "%s %x", c.col, c.key)
		require.NotContains(t, string(hidden), "private key of")
		sum := sha256.Sum256(value)
		require.Contains(t, string(hidden), fmt.Sprintf("(the value is not shown: 32 bytes, SHA-256 %x…)", sum[:8]))
		require.Equal(t, hex.EncodeToString(value), NewPrinter(mem.New(), true).Record(c.col, c.key, value).Hex)
	}
}

// What cursors of key-values are signed with is shown, dumped and compared as a secret.
func TestTheSecretOfCursorsIsRedacted(t *testing.T) {
	e := mem.New()
	defer e.Close()
	fillKeyValues(t, e)
	key := append(make([]byte, 16), "Ck"...)
	secret, err := e.Get(nil, column.Generic, key)
	require.NoError(t, err)
	sum := sha256.Sum256(secret)
	r := NewPrinter(e, false).Record(column.Generic, key, secret)
	require.JSONEq(t, fmt.Sprintf(`{"value":"redacted:%x"}`, sum[:4]), string(r.Value))
	require.Contains(t, string(NewPrinter(e, true).Record(column.Generic, key, secret).Value), hex.EncodeToString(secret))

	var dump bytes.Buffer
	out, err := Export(t.Context(), From(e, Facts{}), &dump, ExportOptions{Plain: true})
	require.NoError(t, err)
	require.Equal(t, uint64(1), out.Redacted)
	require.NotContains(t, dump.String(), hex.EncodeToString(secret))
	other := mem.New()
	defer other.Close()
	in, err := Import(t.Context(), &dump, other, ImportOptions{})
	require.NoError(t, err)
	require.Equal(t, uint64(1), in.Skipped)
	fillKeyValues(t, other)
	own, err := other.Get(nil, column.Generic, key)
	require.NoError(t, err)
	require.NotEqual(t, secret, own)
}
