package codec

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzValues demands of every type and any input: an error, or a value that
// encodes to the same bytes and survives JSON; no panic; allocations in bounds.
func FuzzValues(f *testing.F) {
	seedValues(f)
	f.Fuzz(func(t *testing.T, which uint8, src []byte) {
		k := kinds[int(which)%len(kinds)]
		canonical(t, k, src)
		requireBounded(t, k, src)
		text, err := k.typ.JSON(src, true)
		if err != nil {
			return
		}
		back, err := k.typ.FromJSON(text)
		require.NoError(t, err)
		require.True(t, bytes.Equal(src, back))
	})
}

// FuzzJSON demands of any text: an error, or bytes that print as JSON which
// gives the same bytes.
func FuzzJSON(f *testing.F) {
	for i, k := range kinds {
		for _, golden := range goldenValues[k.typ.Name] {
			b, err := hex.DecodeString(golden)
			require.NoError(f, err)
			text, err := k.typ.JSON(b, true)
			require.NoError(f, err)
			f.Add(uint8(i), []byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		k := kinds[int(which)%len(kinds)]
		b, err := k.typ.FromJSON(text)
		if err != nil {
			require.ErrorIs(t, err, ErrMalformed)
			return
		}
		printed, err := k.typ.JSON(b, true)
		require.NoError(t, err)
		back, err := k.typ.FromJSON(printed)
		require.NoError(t, err)
		require.True(t, bytes.Equal(b, back))
	})
}

func seedValues(f *testing.F) {
	for i, k := range kinds {
		f.Add(uint8(i), []byte{})
		f.Add(uint8(i), bytes.Repeat([]byte{0xFF}, 64))
		f.Add(uint8(i), make([]byte, 128))
		for _, golden := range goldenValues[k.typ.Name] {
			b, err := hex.DecodeString(golden)
			require.NoError(f, err)
			f.Add(uint8(i), b)
		}
	}
}

// goldenValues seeds the targets with records that have every kind of part.
var goldenValues = map[string][]string{
	"ContextDagDeltaValue":  {"111111111111111111111111111111111111111111111111111111111111111102000000222222222222222222222222222222222222222222222222222222222222222233333333333333333333333333333333333333333333333333333333333333330200000000040000001100ff11030000007676760104000000676f6e6511000080000000651202030405060708090a0b0c0d0e0f1001444444444444444444444444444444444444444444444444444444444444444401000000080000007472616e73666572020000007b7d"},
	"Action":                {"00040000001100ff1103000000767676", "0104000000676f6e65"},
	"Event":                 {"080000007472616e73666572020000007b7d"},
	"HybridTimestamp":       {"11000080000000651202030405060708090a0b0c0d0e0f10"},
	"ContextIdentityValue":  {"01111111111111111111111111111111111111111111111111111111111111111100", "0000"},
	"GroupMetaValue":        {"111111111111111111111111111111111111111111111111111111111111111122222222222222222222222222222222222222222222222222222222222222220111f15365000000003333333333333333333333333333333333333333333333333333333333333333010a0000006d6967726174655f7631"},
	"GroupUpgradeValue":     {"0100000000000000020000000000000001010000006d03000000000000001111111111111111111111111111111111111111111111111111111111111111000a0000000000000003000000000000000100000000000000"},
	"NamespaceGovHeadValue": {"11000000000000000200000011111111111111111111111111111111111111111111111111111111111111112222222222222222222222222222222222222222222222222222222222222222"},
	"GroupKeyEntry":         {"200000001111111111111111111111111111111111111111111111111111111111111111"},
	"GroupMemberAlias":      {"040000006d61696e"},
	"ServiceMeta":           {"040000006368617422222222222222222222222222222222222222222222222222222222222222223333333333333333333333333333333333333333333333333333333333333333"},
}
