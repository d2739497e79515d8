package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/rpc"
)

func TestALockIsNamedShortly(t *testing.T) {
	for text, want := range map[string]string{
		"deploy": "task:deploy", "task:deploy": "task:deploy", "task:a:b": "task:a:b", "resource:db:main": "resource:db:main",
		"": "", "a:b": "", "task:": "", "resource:db": "", "{a}": "", "a\n": "", "agent:ann": "",
	} {
		name, err := LockName(text)
		require.Equal(t, want, name, text)
		require.Equal(t, want == "", err != nil, text)
	}
}

func TestGuardsNameLocksAndTokens(t *testing.T) {
	var g Guards
	require.NoError(t, g.Set("deploy=7"))
	require.NoError(t, g.Set("resource:db:a=b=18446744073709551615"))
	require.Equal(t, Guards{{Name: "task:deploy", Token: 7}, {Name: "resource:db:a=b", Token: 1<<64 - 1}}, g)
	require.Equal(t, "task:deploy=7 resource:db:a=b=18446744073709551615", g.String())
	require.Len(t, g.OfWrites(), 2)
	require.Len(t, g.OfRecords(), 2)
	for _, text := range []string{"", "deploy", "deploy=", "deploy=0", "deploy=-1", "deploy=x", "=1", "a:b=1", "deploy=18446744073709551616"} {
		require.Error(t, g.Set(text), text)
	}
	require.Len(t, g, 2, "what is refused is no guard")
	require.Nil(t, Guards(nil).OfWrites())
	var store rpc.Store
	require.Same(t, &store, (&RowGuards{}).Store(&Process{}, &store))
}
