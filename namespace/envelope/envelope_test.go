package envelope_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace/envelope"
)

var (
	seed    = codec.Secret{1}
	key     = codec.Secret{2}
	author  = group.IdentityOf(seed)
	context = codec.ContextID{3}
)

// example is a delta of the author, and where it is.
func example() (*dag.Delta, envelope.Place) {
	return &dag.Delta{
			Context: context, Parents: []codec.DeltaID{{4}, {5}}, Actions: []codec.Action{codec.Put([]byte("key"), []byte("value"))},
			HLC: codec.HybridTimestamp{Time: 6, ID: envelope.Node(author, context)}, ExpectedRoot: codec.Hash{7},
		}, envelope.Place{
			Cut: []codec.OpID{{8}, {9}}, Parents: []codec.EnvelopeID{{10}, {11}}, KeyOp: codec.OpID{12},
		}
}

// opened is what a receiver does with bytes.
func opened(b []byte, key codec.Secret) (*envelope.Envelope, *dag.Delta, error) {
	e, err := envelope.Parse(b)
	if err != nil {
		return nil, nil, err
	}
	if err := e.Verify(); err != nil {
		return e, nil, err
	}
	d, err := e.Open(key)
	return e, d, err
}

func TestWhatIsSealedOpens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, at := example()
		seed, key := codec.Secret{rapid.Byte().Draw(t, "seed")}, codec.Secret{rapid.Byte().Draw(t, "key")}
		d.HLC.ID = envelope.Node(group.IdentityOf(seed), context)
		d.Actions[0].Value = rapid.SliceOf(rapid.Byte()).Draw(t, "value")
		e, err := envelope.Seal(d, at, key, seed)
		require.NoError(t, err)
		again, err := envelope.Seal(d, at, key, seed)
		require.NoError(t, err)
		require.Equal(t, e, again, "the same is sealed into the same bytes")
		got, plain, err := opened(e.Bytes(), key)
		require.NoError(t, err)
		require.Equal(t, e, got)
		require.Equal(t, d.ID(), plain.ID())
		require.Equal(t, group.IdentityOf(seed), got.Author)
	})
}

func TestNonceFollowsFromAllThatIsSealed(t *testing.T) {
	d, at := example()
	e, err := envelope.Seal(d, at, key, seed)
	require.NoError(t, err)
	seen := map[[24]byte]bool{e.Nonce: true}
	for _, change := range []func(d *dag.Delta, at *envelope.Place){
		func(d *dag.Delta, _ *envelope.Place) { d.HLC.Time++ },
		func(_ *dag.Delta, at *envelope.Place) { at.Cut = at.Cut[:1] },
		func(_ *dag.Delta, at *envelope.Place) { at.Parents = []codec.EnvelopeID{{1}, {2}} },
		func(_ *dag.Delta, at *envelope.Place) { at.KeyOp = codec.OpID{1} },
	} {
		d, at := example()
		change(d, &at)
		e, err := envelope.Seal(d, at, key, seed)
		require.NoError(t, err)
		require.False(t, seen[e.Nonce])
		seen[e.Nonce] = true
	}
	e, err = envelope.Seal(d, at, codec.Secret{99}, seed)
	require.NoError(t, err)
	require.False(t, seen[e.Nonce], "of another key")
}

func TestAnEnvelopeThatIsChangedIsRefused(t *testing.T) {
	d, at := example()
	e, err := envelope.Seal(d, at, key, seed)
	require.NoError(t, err)
	for i := range e.Bytes() {
		for _, bit := range []byte{1, 0x80} {
			changed := append([]byte{}, e.Bytes()...)
			changed[i] ^= bit
			_, _, err := opened(changed, key)
			require.Error(t, err, "byte %d", i)
		}
	}
	for n := range len(e.Bytes()) {
		_, err := envelope.Parse(e.Bytes()[:n])
		require.ErrorIs(t, err, codec.ErrMalformed)
	}
	_, err = envelope.Parse(append(append([]byte{}, e.Bytes()...), 0))
	require.ErrorIs(t, err, codec.ErrMalformed)
}

func TestOthersKeysOpenNothing(t *testing.T) {
	d, at := example()
	e, err := envelope.Seal(d, at, key, seed)
	require.NoError(t, err)
	_, _, err = opened(e.Bytes(), codec.Secret{99})
	require.ErrorIs(t, err, envelope.ErrOpen)
}

func TestFormsThatAreNone(t *testing.T) {
	ops := func(n int) (ids []codec.OpID) {
		for i := range n {
			ids = append(ids, codec.OpID{byte(i)})
		}
		return ids
	}
	parents := func(n int) (ids []codec.EnvelopeID) {
		for i := range n {
			ids = append(ids, codec.EnvelopeID{byte(i)})
		}
		return ids
	}
	for name, change := range map[string]func(e *codec.DeltaEnvelope){
		"its cut is empty":                    func(e *codec.DeltaEnvelope) { e.Cut = nil },
		"a cut of 65 ops":                     func(e *codec.DeltaEnvelope) { e.Cut = ops(65) },
		"the ops of its cut are not in order": func(e *codec.DeltaEnvelope) { e.Cut = []codec.OpID{{2}, {1}} },
		"the ops of its cut are not":          func(e *codec.DeltaEnvelope) { e.Cut = []codec.OpID{{2}, {2}} },
		"65 parents":                          func(e *codec.DeltaEnvelope) { e.Parents = parents(65) },
		"its parents are not in order":        func(e *codec.DeltaEnvelope) { e.Parents = []codec.EnvelopeID{{2}, {1}} },
		"16 sealed bytes":                     func(e *codec.DeltaEnvelope) { e.Sealed = make([]byte, 16) },
		"4194321 sealed bytes":                func(e *codec.DeltaEnvelope) { e.Sealed = make([]byte, envelope.MaxSealed+1) },
	} {
		t.Run(name, func(t *testing.T) {
			d, at := example()
			e, err := envelope.Seal(d, at, key, seed)
			require.NoError(t, err)
			v := e.DeltaEnvelope
			change(&v)
			b, err := v.AppendBinary(nil)
			require.NoError(t, err)
			_, err = envelope.Parse(b)
			require.ErrorIs(t, err, envelope.ErrMalformed)
			require.ErrorContains(t, err, name)
		})
	}
	d, at := example()
	at.Cut, at.Parents = ops(64), parents(64)
	d.Parents = nil
	for i := range 64 {
		d.Parents = append(d.Parents, codec.DeltaID{byte(i)})
	}
	e, err := envelope.Seal(d, at, key, seed)
	require.NoError(t, err)
	_, _, err = opened(e.Bytes(), key)
	require.NoError(t, err, "as many as may be")
}

// TestNobodySendsAnothersDelta: who can open an envelope can sign what is in it anew, and is
// told from its author by the clock.
func TestNobodySendsAnothersDelta(t *testing.T) {
	thief := codec.Secret{77}
	d, at := example()
	_, err := envelope.Seal(d, at, key, thief)
	require.ErrorIs(t, err, envelope.ErrDelta)

	d.HLC.ID = envelope.Node(group.IdentityOf(thief), context)
	e, err := envelope.Seal(d, at, key, thief)
	require.NoError(t, err)
	require.NotEqual(t, envelope.Node(author, context), d.HLC.ID)
	require.NotEqual(t, envelope.Node(author, codec.ContextID{1}), envelope.Node(author, context))
	v := e.DeltaEnvelope
	v.Author = author
	b, err := v.AppendBinary(nil)
	require.NoError(t, err)
	_, _, err = opened(b, key)
	require.ErrorIs(t, err, envelope.ErrSignature)
}

// TestParentsAreCounted: a delta whose clear part names fewer parents than it has would be
// taken before them.
func TestParentsAreCounted(t *testing.T) {
	d, at := example()
	at.Parents = at.Parents[:1]
	e, err := envelope.Seal(d, at, key, seed)
	require.NoError(t, err)
	_, _, err = opened(e.Bytes(), key)
	require.ErrorIs(t, err, envelope.ErrDelta)
}

// TestWhatAnEnvelopeAdds holds the README to it.
func TestWhatAnEnvelopeAdds(t *testing.T) {
	d, at := example()
	d.Parents, at.Parents, at.Cut = d.Parents[:1], at.Parents[:1], at.Cut[:1]
	plain, err := d.AppendBinary(nil)
	require.NoError(t, err)
	e, err := envelope.Seal(d, at, key, seed)
	require.NoError(t, err)
	require.Len(t, e.Bytes(), 277+len(plain))
}

// TestGoldenEnvelope holds the bytes, which other nodes have.
func TestGoldenEnvelope(t *testing.T) {
	d, at := example()
	e, err := envelope.Seal(d, at, key, seed)
	require.NoError(t, err)
	golden, err := os.ReadFile(filepath.Join("testdata", "envelope.hex"))
	require.NoError(t, err)
	id, text, _ := strings.Cut(strings.TrimSpace(string(golden)), "\n")
	require.Equal(t, text, hex.EncodeToString(e.Bytes()))
	require.Equal(t, id, e.ID.String())
}
