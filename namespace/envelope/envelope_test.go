package envelope_test

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/chacha20poly1305"
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
	at := envelope.Place{Cut: []codec.OpID{{8}, {9}}, Parents: []codec.EnvelopeID{{10}, {11}}, KeyOp: codec.OpID{12}}
	node, err := envelope.Node(author, context, at)
	if err != nil {
		panic(err)
	}
	return &dag.Delta{
		Context: context, Parents: []codec.DeltaID{{4}, {5}}, Actions: []codec.Action{codec.Put([]byte("key"), []byte("value"))},
		HLC: codec.HybridTimestamp{Time: 6, ID: node}, ExpectedRoot: codec.Hash{7},
	}, at
}

// stamped has d have the clock of the delta of a seed's holder at a place.
func stamped(t require.TestingT, d *dag.Delta, at envelope.Place, seed codec.Secret) *dag.Delta {
	var err error
	d.HLC.ID, err = envelope.Node(group.IdentityOf(seed), d.Context, at)
	require.NoError(t, err)
	return d
}

// sealed is the delta's envelope, with the clock that it is to have.
func sealed(t require.TestingT, d *dag.Delta, at envelope.Place, key, seed codec.Secret) *envelope.Envelope {
	e, err := envelope.Seal(stamped(t, d, at, seed), at, key, seed)
	require.NoError(t, err)
	return e
}

// opened is what a receiver does with bytes.
func opened(b []byte, key codec.Secret) (*envelope.Envelope, *dag.Delta, error) {
	e, err := envelope.Parse(b)
	if err != nil {
		return nil, nil, err
	}
	if err := e.Verify(nil); err != nil {
		return e, nil, err
	}
	d, err := e.Open(key)
	return e, d, err
}

func TestWhatIsSealedOpens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, at := example()
		seed, key := codec.Secret{rapid.Byte().Draw(t, "seed")}, codec.Secret{rapid.Byte().Draw(t, "key")}
		d.Actions[0].Value = rapid.SliceOf(rapid.Byte()).Draw(t, "value")
		e := sealed(t, d, at, key, seed)
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
	e := sealed(t, d, at, key, seed)
	seen := map[[24]byte]bool{e.Nonce: true}
	for _, change := range []func(d *dag.Delta, at *envelope.Place){
		func(d *dag.Delta, _ *envelope.Place) { d.HLC.Time++ },
		func(_ *dag.Delta, at *envelope.Place) { at.Cut = at.Cut[:1] },
		func(_ *dag.Delta, at *envelope.Place) { at.Parents = []codec.EnvelopeID{{1}, {2}} },
		func(_ *dag.Delta, at *envelope.Place) { at.KeyOp = codec.OpID{1} },
	} {
		d, at := example()
		change(d, &at)
		e := sealed(t, d, at, key, seed)
		require.False(t, seen[e.Nonce])
		seen[e.Nonce] = true
	}
	e = sealed(t, d, at, codec.Secret{99}, seed)
	require.False(t, seen[e.Nonce], "of another key")
}

func TestAnEnvelopeThatIsChangedIsRefused(t *testing.T) {
	d, at := example()
	e := sealed(t, d, at, key, seed)
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
	_, err := envelope.Parse(append(append([]byte{}, e.Bytes()...), 0))
	require.ErrorIs(t, err, codec.ErrMalformed)
}

func TestOthersKeysOpenNothing(t *testing.T) {
	d, at := example()
	e := sealed(t, d, at, key, seed)
	_, _, err := opened(e.Bytes(), codec.Secret{99})
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
	e := sealed(t, d, at, key, seed)
	_, _, err := opened(e.Bytes(), key)
	require.NoError(t, err, "as many as may be")
}

// TestNobodySendsAnothersDelta: who can open an envelope can sign what is in it anew, and is
// told from its author by the clock.
func TestNobodySendsAnothersDelta(t *testing.T) {
	thief := codec.Secret{77}
	d, at := example()
	_, err := envelope.Seal(d, at, key, thief)
	require.ErrorIs(t, err, envelope.ErrDelta)

	e := sealed(t, d, at, key, thief)
	node, err := envelope.Node(author, context, at)
	require.NoError(t, err)
	require.NotEqual(t, node, d.HLC.ID)
	v := e.DeltaEnvelope
	v.Author = author
	b, err := v.AppendBinary(nil)
	require.NoError(t, err)
	_, _, err = opened(b, key)
	require.ErrorIs(t, err, envelope.ErrSignature)
}

// TestADeltaIsOfOnePlace: the same delta goes into no envelope with another clear part, so that all
// nodes know it by one id.
func TestADeltaIsOfOnePlace(t *testing.T) {
	for name, change := range map[string]func(at *envelope.Place){
		"cut":     func(at *envelope.Place) { at.Cut = at.Cut[:1] },
		"key":     func(at *envelope.Place) { at.KeyOp = codec.OpID{1} },
		"parents": func(at *envelope.Place) { at.Parents = []codec.EnvelopeID{{1}, {2}} },
	} {
		d, at := example()
		stamped(t, d, at, seed)
		change(&at)
		_, err := envelope.Seal(d, at, key, seed)
		require.ErrorIs(t, err, envelope.ErrDelta, name)
	}
}

// resealed is e with another nonce, as its author could make it.
func resealed(t *testing.T, d *dag.Delta, e *envelope.Envelope, nonce byte) []byte {
	secret, err := hkdf.Key(sha256.New, key[:], nil, "stoa.delta.sealing.v1", chacha20poly1305.KeySize)
	require.NoError(t, err)
	aead, err := chacha20poly1305.NewX(secret)
	require.NoError(t, err)
	plain, err := d.AppendBinary(nil)
	require.NoError(t, err)
	v := e.DeltaEnvelope
	v.Nonce[0] ^= nonce
	b, err := v.AppendBinary([]byte("stoa.delta.envelope.v1"))
	require.NoError(t, err)
	unsigned := b[:len(b)-len(v.Signature)]
	v.Sealed = aead.Seal(nil, v.Nonce[:], plain, unsigned[:len(unsigned)-len(v.Sealed)-4])
	b, err = v.AppendBinary([]byte("stoa.delta.envelope.v1"))
	require.NoError(t, err)
	v.Signature = group.Sign(seed, "", b[:len(b)-len(v.Signature)])
	b, err = v.AppendBinary(nil)
	require.NoError(t, err)
	return b
}

// TestADeltaHasOneNonce: with another its author could make any number of envelopes of it.
func TestADeltaHasOneNonce(t *testing.T) {
	d, at := example()
	e := sealed(t, d, at, key, seed)
	require.Equal(t, e.Bytes(), resealed(t, d, e, 0))
	_, _, err := opened(resealed(t, d, e, 1), key)
	require.ErrorIs(t, err, envelope.ErrDelta)
	require.ErrorContains(t, err, "nonce")
}

// TestTheIDIsNotOfTheSignature: of which an author can make any number.
func TestTheIDIsNotOfTheSignature(t *testing.T) {
	d, at := example()
	e := sealed(t, d, at, key, seed)
	v := e.DeltaEnvelope
	v.Signature[0] ^= 1
	b, err := v.AppendBinary(nil)
	require.NoError(t, err)
	other, err := envelope.Parse(b)
	require.NoError(t, err)
	require.Equal(t, e.ID, other.ID)
}

func TestAnEnvelopeIsRebuilt(t *testing.T) {
	d, at := example()
	e := sealed(t, d, at, key, seed)
	v := e.DeltaEnvelope
	v.Sealed = nil
	again, err := envelope.Rebuild(d, v, key)
	require.NoError(t, err)
	require.Equal(t, e, again)
	d.ExpectedRoot[0]++
	again, err = envelope.Rebuild(d, v, key)
	require.NoError(t, err)
	require.ErrorIs(t, again.Verify(nil), envelope.ErrSignature)
}

// TestParentsAreCounted: a delta whose clear part names fewer parents than it has would be
// taken before them.
func TestParentsAreCounted(t *testing.T) {
	d, at := example()
	at.Parents = at.Parents[:1]
	e := sealed(t, d, at, key, seed)
	_, _, err := opened(e.Bytes(), key)
	require.ErrorIs(t, err, envelope.ErrDelta)
}

// TestWhatAnEnvelopeAdds holds the README to it.
func TestWhatAnEnvelopeAdds(t *testing.T) {
	d, at := example()
	d.Parents, at.Parents, at.Cut = d.Parents[:1], at.Parents[:1], at.Cut[:1]
	plain, err := d.AppendBinary(nil)
	require.NoError(t, err)
	e := sealed(t, d, at, key, seed)
	require.Len(t, e.Bytes(), 277+len(plain))
}

// TestGoldenEnvelope holds the bytes, which other nodes have.
func TestGoldenEnvelope(t *testing.T) {
	d, at := example()
	e := sealed(t, d, at, key, seed)
	golden, err := os.ReadFile(filepath.Join("testdata", "envelope.hex"))
	require.NoError(t, err)
	id, text, _ := strings.Cut(strings.TrimSpace(string(golden)), "\n")
	require.Equal(t, text, hex.EncodeToString(e.Bytes()))
	require.Equal(t, id, e.ID.String())
}
