package carry

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/inspect/merod"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

const home = "../../testdata/merod/home"

// sampleID and identity are those of the sample, as its generator makes them.
func sampleID(name string, i int) codec.ContextID {
	return sha256.Sum256(fmt.Appendf(nil, "%s %d", name, i))
}

func identity(i int) (public codec.Identity) {
	seed := sampleID("seed", i)
	return codec.Identity(ed25519.NewKeyFromSeed(seed[:])[32:])
}

func carryHome(t *testing.T, o Options) (*mem.Engine, *Carried, error) {
	t.Helper()
	d, err := merod.Open(home)
	require.NoError(t, err)
	to := mem.New()
	t.Cleanup(func() { to.Close() })
	if o.Node.IsZero() {
		o.Node = codec.NodeID{Lo: 7}
	}
	o.Spool = filepath.Join(t.TempDir(), "spool")
	if o.Left == nil {
		o.Left = func(merod.Row, string) error { return nil }
	}
	out, err := Carry(context.Background(), d, to, o)
	return to, out, err
}

// What is carried over is a store in which nothing is wrong, with what a merod had, and what is
// left behind is each row that it had besides.
func TestAHomeIsCarriedOver(t *testing.T) {
	left := map[string]int{}
	ids := map[codec.BlobID]codec.BlobID{}
	to, out, err := carryHome(t, Options{
		Blobs: filepath.Join(home, "blobs"), Identities: []codec.Identity{identity(3)},
		Left: func(r merod.Row, why string) error {
			require.NotEmpty(t, why)
			left[r.Column]++
			return nil
		},
		BlobID: func(there, here codec.BlobID) error { ids[there] = here; return nil },
	})
	require.NoError(t, err)
	require.Equal(t, Carried{
		Blobs: 3, Applications: 2, Contexts: 3, State: 8, Private: 8, Identities: 2, Aliases: 3, Generic: 2, Left: out.Left,
	}, *out)
	require.Equal(t, map[string]int{
		"Alias": 2, "Application": 1, "Blobs": 2, "Config": 1, "ContextLocal": 6, "Delta": 3, "Generic": 1, "Group": 112,
		"Identity": 2, "Meta": 1, "PrivateState": 1, "State": 1,
	}, left)
	require.Len(t, ids, 3)

	verdict, err := inspect.Verify(context.Background(), inspect.From(to, inspect.Facts{}), inspect.VerifyOptions{Full: true}, func(f inspect.Finding) error {
		t.Error(f)
		return nil
	})
	require.NoError(t, err)
	require.Positive(t, verdict.Rows)

	contexts, err := dag.Open(to, dag.Options{Node: codec.NodeID{Lo: 7}})
	require.NoError(t, err)
	defer contexts.Close()
	id := sampleID("context_id", 0)
	for j := range 5 {
		key := sampleID("state_key", j)
		value, err := contexts.State(id, key[:])
		require.NoError(t, err)
		require.Equal(t, make([]byte, 10*j), append([]byte{}, zeroed(value, byte(j))...))
	}
	list, err := contexts.Contexts(codec.ContextID{}, 10)
	require.NoError(t, err)
	require.Len(t, list, 3)
	config, err := contexts.Config(id)
	require.NoError(t, err)
	require.Equal(t, codec.ContextConfigValue{ApplicationRevision: 1, MembersRevision: 7}, config)

	meta, err := engine.Get(to, keys.ApplicationMeta{App: codec.ApplicationID(sampleID("application_id", 0))})
	require.NoError(t, err)
	require.Equal(t, codec.BlobID(sha256.Sum256([]byte("the code of an application, in two chunks"))), meta.Bytecode)
	require.Equal(t, "meta", string(meta.Metadata))
	meta, err = engine.Get(to, keys.ApplicationMeta{App: codec.ApplicationID(sampleID("application_id", 1))})
	require.NoError(t, err)
	require.True(t, meta.Bytecode.IsZero(), "its content is lost")
	require.Equal(t, codec.BlobID(sha256.Sum256([]byte("what it was compiled to"))), meta.Services[0].Bytecode)

	who, err := engine.Get(to, keys.ContextIdentity{Context: sampleID("context_id", 1)})
	require.NoError(t, err)
	seed := sampleID("seed", 3)
	require.True(t, who.PrivateKey.V.Equal(codec.Secret(seed)))
	has, err := engine.Has(to, keys.ContextIdentity{Context: sampleID("context_id", 2)})
	require.NoError(t, err)
	require.False(t, has)

	// A context goes on from its base.
	_, root, err := contexts.Heads(id)
	require.NoError(t, err)
	_, err = contexts.Commit(context.Background(), dag.Commit{Context: id, ReadRoot: root, Actions: []codec.Action{codec.Put([]byte("k"), []byte("v"))}})
	require.NoError(t, err)
}

// zeroed returns b with zeros where it has c.
func zeroed(b []byte, c byte) []byte {
	out := make([]byte, len(b))
	for i := range b {
		out[i] = b[i] ^ c
	}
	return out
}

func TestWhichIdentityIsSaid(t *testing.T) {
	blobs := filepath.Join(home, "blobs")
	to, _, err := carryHome(t, Options{Blobs: blobs})
	var several Several
	require.ErrorAs(t, err, &several)
	require.Equal(t, Several{sampleID("context_id", 1)}, several)
	require.ErrorContains(t, err, sampleID("context_id", 1).String())
	it, ierr := to.Iterate(column.Blobs, engine.Range{})
	require.NoError(t, ierr)
	require.False(t, it.Next(), "nothing was written")
	require.NoError(t, it.Close())
	_, _, err = carryHome(t, Options{Blobs: blobs, Identities: []codec.Identity{identity(2), identity(3)}})
	require.ErrorAs(t, err, &several)
	_, out, err := carryHome(t, Options{Blobs: blobs, NoIdentities: true})
	require.NoError(t, err)
	require.Zero(t, out.Identities)
	_, out, err = carryHome(t, Options{Blobs: blobs, Identities: []codec.Identity{identity(2)}})
	require.NoError(t, err)
	require.EqualValues(t, 2, out.Identities)
}

// Without the directory of content there are no blobs, and applications say so.
func TestWithoutContentThereAreNoBlobs(t *testing.T) {
	to, out, err := carryHome(t, Options{NoIdentities: true})
	require.NoError(t, err)
	require.Zero(t, out.Blobs)
	require.EqualValues(t, 2, out.Applications)
	for _, l := range out.Left {
		if l.Column == "Blobs" {
			require.EqualValues(t, 5, l.Rows)
			require.Contains(t, l.Reason, "was not given")
		}
	}
	_, err = inspect.Verify(context.Background(), inspect.From(to, inspect.Facts{}), inspect.VerifyOptions{Full: true}, func(f inspect.Finding) error {
		t.Error(f)
		return nil
	})
	require.NoError(t, err)
}

// What a store does not take over is an error of nobody: rows that are not explained are left.
func TestAStrangeDatabaseIsCarriedAsFarAsItIsExplained(t *testing.T) {
	for _, name := range []string{"strange", "2026-05", "2026-08"} {
		d, err := merod.Open("../../testdata/merod/" + name)
		require.NoError(t, err)
		v, err := merod.Survey(context.Background(), d, nil)
		require.NoError(t, err)
		to := mem.New()
		var left uint64
		out, err := Carry(context.Background(), d, to, Options{
			Node: codec.NodeID{Lo: 1}, NoIdentities: true, Spool: filepath.Join(t.TempDir(), "spool"), Left: func(merod.Row, string) error { left++; return nil },
		})
		require.NoError(t, err)
		var told uint64
		for _, l := range out.Left {
			told += l.Rows
		}
		require.Equal(t, left, told)
		require.LessOrEqual(t, left, v.Rows+v.Rows/10, "a row of which a part is left counts too")
		_, err = inspect.Verify(context.Background(), inspect.From(to, inspect.Facts{}), inspect.VerifyOptions{Full: true}, func(f inspect.Finding) error {
			t.Error(name, f)
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, to.Close())
	}
}
