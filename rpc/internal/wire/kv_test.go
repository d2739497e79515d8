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

func TestAKVItemIsItsMessage(t *testing.T) {
	c := NewCodec()
	rapid.Check(t, func(t *rapid.T) {
		i, m := KVItem{Found: rapid.Bool().Draw(t, "found")}, stoav1.KvGetResponse{}
		if i.Found {
			i.Value = rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "value")
			i.Revision, i.ExpiresMS, i.RemainingMS = rapid.Uint64().Draw(t, "revision"), rapid.Uint64().Draw(t, "expires"), rapid.Uint64().Draw(t, "remaining")
			i.CreatedRevision, i.WrittenMS = rapid.Uint64().Draw(t, "created"), rapid.Uint64().Draw(t, "written")
			m.Item = &stoav1.KvItem{Value: i.Value, Revision: i.Revision, ExpiresMs: i.ExpiresMS, RemainingMs: i.RemainingMS,
				CreatedRevision: i.CreatedRevision, WrittenMs: i.WrittenMS}
		}
		b, err := proto.Marshal(&m)
		require.NoError(t, err)
		b = append(b, 0xA2, 0x06, 2, 'h', 'i') // of a later version
		var in KVItem
		require.NoError(t, c.Unmarshal(cutUp(t, b), &in))
		require.Equal(t, string(i.Value), string(in.Value))
		in.Value, i.Value = nil, nil
		require.Equal(t, i, in)
	})
	for _, b := range [][]byte{{0x0A}, {0x0A, 2, 0x12, 5}, {0x0A, 1, 0x18}} {
		require.ErrorIs(t, new(KVItem).Parse(b), errInbound)
	}
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
