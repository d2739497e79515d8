package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/rpc/stoav1"
)

func TestAKVPutIsItsMessage(t *testing.T) {
	some := rapid.SliceOfN(rapid.Byte(), 0, 300)
	rapid.Check(t, func(t *rapid.T) {
		p := KVPut{KVGet: KVGet{Tenant: some.Draw(t, "tenant"), Key: rapid.String().Draw(t, "key")}, Value: some.Draw(t, "value"),
			Durability: stoav1.Durability(rapid.IntRange(0, 3).Draw(t, "durability"))}
		if rapid.Bool().Draw(t, "expires") {
			p.TTLSeconds = proto.Int64(rapid.Int64().Draw(t, "ttl"))
		}
		sent := p.AppendTo(nil)
		var m stoav1.KvPutRequest
		require.NoError(t, proto.Unmarshal(sent, &m))
		require.Equal(t, string(p.Tenant), string(m.Tenant))
		require.Equal(t, p.Key, string(m.Key))
		require.Equal(t, string(p.Value), string(m.Value))
		require.Equal(t, p.TTLSeconds, m.TtlSeconds)
		require.Equal(t, p.Durability, m.Durability)
	})
}

// A request that is put together by hand is the one of the protobuf library.
func TestAKVGetIsItsMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := KVGet{Tenant: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "tenant"), Key: rapid.String().Draw(t, "key")}
		sent := g.AppendTo(nil)
		var m stoav1.KvGetRequest
		require.NoError(t, proto.Unmarshal(sent, &m))
		require.Equal(t, string(g.Tenant), string(m.Tenant))
		require.Equal(t, g.Key, string(m.Key))
	})
}
