package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

func TestLookupsAndValuesComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) engine.Lookup {
			l := engine.Lookup{
				Column: column.Column(rapid.IntRange(1, column.Count).Draw(t, "column")),
				Key:    rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "key"),
				Found:  rapid.Bool().Draw(t, "found"),
			}
			if l.Found {
				l.Value = append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "value")...)
			}
			return l
		}), 0, 20).Draw(t, "lookups")
		var values []byte
		for _, l := range want {
			values = AppendValue(values, l.Value, l.Found)
		}
		got, err := ParseLookups(nil, AppendLookups(nil, want))
		require.NoError(t, err)
		require.NoError(t, ParseValues(values, got))
		require.Len(t, got, len(want))
		for i := range want {
			require.Equal(t, want[i].Column, got[i].Column)
			require.Equal(t, string(want[i].Key), string(got[i].Key))
			require.Equal(t, want[i].Found, got[i].Found)
			require.Equal(t, want[i].Value == nil, got[i].Value == nil)
			require.Equal(t, string(want[i].Value), string(got[i].Value))
		}
		if len(values) > 0 {
			require.Error(t, ParseValues(values[:len(values)-1], got))
		}
		require.Error(t, ParseValues(append(values, 0), got))
	})
}
