package keys

import (
	"bytes"
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

func TestEveryKeySurvivesBothDirections(t *testing.T) {
	each(t, func(t *testing.T, k kind) {
		rapid.Check(t, func(t *rapid.T) {
			key := k.draw(t)
			b, err := k.append(key, []byte("head"))
			require.NoError(t, err)
			require.Equal(t, "head", string(b[:4]))
			b = b[4:]
			require.GreaterOrEqual(t, len(b), k.info.Size)
			require.LessOrEqual(t, len(b), k.info.Size+k.info.MaxVar)
			require.True(t, bytes.HasPrefix(b, k.whole))

			back, err := k.parse(b)
			require.NoError(t, err)
			require.Equal(t, key, back)

			info, err := Identify(k.info.Column, b)
			require.NoError(t, err)
			require.Equal(t, k.info.Name, info.Name)

			text, err := k.info.KeyJSON(b)
			require.NoError(t, err)
			again, err := k.info.KeyFromJSON(text)
			require.NoError(t, err, "%s", text)
			require.Equal(t, b, again)
		})
	})
}

func TestParsedKeyKeepsNoReference(t *testing.T) {
	each(t, func(t *testing.T, k kind) {
		rapid.Check(t, func(t *rapid.T) {
			b, err := k.append(k.draw(t), nil)
			require.NoError(t, err)
			src := bytes.Clone(b)
			key, err := k.parse(src)
			require.NoError(t, err)
			clear(src)
			again, err := k.append(key, nil)
			require.NoError(t, err)
			require.Equal(t, b, again)
		})
	})
}

func TestKeysAllocateNothing(t *testing.T) {
	buf := make([]byte, 0, 256)
	each(t, func(t *testing.T, k kind) {
		rapid.Check(t, func(t *rapid.T) {
			require.Zero(t, k.allocs(k.draw(t), buf))
		})
	})
}

func TestWrongLengthsAndTagsAreRefused(t *testing.T) {
	each(t, func(t *testing.T, k kind) {
		rapid.Check(t, func(t *rapid.T) {
			b, err := k.append(k.draw(t), nil)
			require.NoError(t, err)
			requireRefused(t, k, b[:rapid.IntRange(0, k.info.Size-1).Draw(t, "cut")])
			requireRefused(t, k, append(b[:len(b):len(b)], make([]byte, k.info.MaxVar+1)...))
			if k.info.Tag != 0 {
				b[0] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
				requireRefused(t, k, b)
			}
		})
	})
}

func requireRefused(t require.TestingT, k kind, src []byte) {
	key, err := k.parse(src)
	require.ErrorIs(t, err, ErrLayout)
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, k.info.Name, e.Type)
	require.Equal(t, k.info.Column, e.Column)
	require.GreaterOrEqual(t, e.Offset, 0)
	require.LessOrEqual(t, e.Offset, len(src))
	require.Zero(t, key)
	_, err = k.info.KeyJSON(src)
	require.ErrorIs(t, err, ErrLayout)
}

func TestNumbersSortAsNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b")
		require.Equal(t, a, NewSeq(a).Uint64())
		opA, err := GroupOpLog{Seq: NewSeq(a)}.AppendBinary(nil)
		require.NoError(t, err)
		opB, err := GroupOpLog{Seq: NewSeq(b)}.AppendBinary(nil)
		require.NoError(t, err)
		require.Equal(t, cmp.Compare(a, b), bytes.Compare(opA, opB))

		chunkA, err := BlobChunk{Index: uint32(a)}.AppendBinary(nil)
		require.NoError(t, err)
		chunkB, err := BlobChunk{Index: uint32(b)}.AppendBinary(nil)
		require.NoError(t, err)
		require.Equal(t, cmp.Compare(uint32(a), uint32(b)), bytes.Compare(chunkA, chunkB))
	})
}

func TestVariablePartsOfAnyLengthAreKept(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 1000, MaxVariable} {
		part := bytes.Repeat([]byte{7}, n)
		v := NewBytes(part)
		require.Equal(t, n, v.Len())
		require.Equal(t, part, append([]byte{}, v.AppendTo(nil)...))
		require.Equal(t, v, NewBytes(bytes.Clone(part)))

		b, err := ContextState{AppKey: v}.AppendBinary(nil)
		require.NoError(t, err)
		back, err := ContextState{}.Parse(b)
		require.NoError(t, err)
		require.Equal(t, ContextState{AppKey: v}, back)
	}
	require.NotEqual(t, NewBytes([]byte{0}), NewBytes([]byte{0, 0}))
}

func TestKeysWithoutValidBytesAreRefused(t *testing.T) {
	name, err := NewName("main")
	require.NoError(t, err)
	over := NewBytes(make([]byte, MaxVariable+1))
	refused := func(field string, appendKey func([]byte) ([]byte, error)) {
		t.Helper()
		b, err := appendKey([]byte("head"))
		require.ErrorIs(t, err, ErrLayout)
		require.Equal(t, "head", string(b))
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, field, e.Field)
	}
	refused("kind", Alias{Name: name}.AppendBinary)
	refused("kind", Alias{Kind: 9, Name: name}.AppendBinary)
	refused("scope", Alias{Kind: AliasContext, Scope: codec.ContextID{1}, Name: name}.AppendBinary)
	refused("scope", Alias{Kind: AliasApplication, Scope: codec.ContextID{1}, Name: name}.AppendBinary)
	refused("name", Alias{Kind: AliasContext}.AppendBinary)
	refused("name", Alias{Kind: AliasContext, Name: Name{0: 'a', 2: 'b'}}.AppendBinary)
	refused("name", Alias{Kind: AliasContext, Name: Name{0xFF}}.AppendBinary)
	refused("app_key", ContextState{AppKey: over}.AppendBinary)
	refused("app_key", ContextPrivateState{AppKey: over}.AppendBinary)
	refused("fragment", Generic{Fragment: over}.AppendBinary)
	refused("scope", Generic{Scope: Scope{0xFF}}.AppendBinary)
	refused("scope", Generic{Scope: Scope{0: 'a', 2: 'b'}}.AppendBinary)
	refused("scope", Generic{Scope: Scope{2: 1}}.AppendBinary)
}

func TestErrorsSayWhere(t *testing.T) {
	_, err := GroupMember{}.Parse(make([]byte, 0))
	require.EqualError(t, err, "keys: GroupMember in Group at byte 0: 0 bytes instead of 65")
	_, err = GroupMember{}.Parse(make([]byte, 65))
	require.EqualError(t, err, "keys: GroupMember in Group at byte 0: prefix 0x00 instead of 0x21")
	_, err = Identify(column.Group, []byte{0x21, 1})
	require.EqualError(t, err, "keys: GroupMember in Group at byte 2: prefix 0x21: 2 bytes instead of 65")
	_, err = Identify(column.Meta, []byte{1})
	require.EqualError(t, err, "keys: ContextMeta in Meta at byte 1: 1 bytes instead of 32")
	_, err = Identify(column.Column(12), nil)
	require.EqualError(t, err, "keys: key in Column(12): no such column")
	_, err = Identify(column.Blobs, make([]byte, 33))
	require.EqualError(t, err, "keys: key in Blobs at byte 32: 33 bytes, neither the 32 of a manifest nor the 36 of a chunk")
}

func TestNames(t *testing.T) {
	for _, s := range []string{"a", "main", "é", string(bytes.Repeat([]byte("a"), 50))} {
		n, err := NewName(s)
		require.NoError(t, err)
		require.Equal(t, s, n.String())
	}
	for _, s := range []string{"", "\x00", "a\x00", "a\x00b", "\xff", string(bytes.Repeat([]byte("a"), 51))} {
		_, err := NewName(s)
		require.ErrorIs(t, err, ErrLayout, "%q", s)
	}
}

func TestPartsOfUpTo64BytesAreHeldInPlace(t *testing.T) {
	part := make([]byte, 64)
	require.Zero(t, testing.AllocsPerRun(100, func() { NewBytes(part) }))
}
