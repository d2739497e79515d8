package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/rpc/stoav1"
)

func TestAPolicyDecideIsItsMessage(t *testing.T) {
	some := rapid.SliceOfN(rapid.Byte(), 0, 300)
	rapid.Check(t, func(t *rapid.T) {
		d := PolicyDecide{Tenant: some.Draw(t, "tenant"), Agent: rapid.String().Draw(t, "agent"), Action: rapid.String().Draw(t, "action"), Context: some.Draw(t, "context")}
		var m stoav1.PolicyDecideRequest
		require.NoError(t, proto.Unmarshal(d.AppendTo(nil), &m))
		require.Equal(t, string(d.Tenant), string(m.Tenant))
		require.Equal(t, d.Agent, m.Agent)
		require.Equal(t, d.Action, m.Action)
		require.Equal(t, string(d.Context), string(m.Context))
	})
}
