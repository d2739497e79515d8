package framed

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/rpc/stoav1"
)

func TestBriefCallsAreThoseThatWaitForNoDisk(t *testing.T) {
	field := (*stoav1.LockTryAcquireRequest)(nil).ProtoReflect().Descriptor().Fields().ByName("durability").Number()
	m := &method{durability: field}
	for durability, brief := range map[stoav1.Durability]bool{
		stoav1.Durability_DURABILITY_UNSPECIFIED: false, stoav1.Durability_DURABILITY_SYNCED: false, stoav1.Durability_DURABILITY_WAL: true, 99: false,
	} {
		b, err := proto.Marshal(&stoav1.LockTryAcquireRequest{Tenant: []byte("acme"), Name: "task:1", Agent: "a", TtlMs: 5, Durability: durability})
		require.NoError(t, err)
		require.Equal(t, brief, m.waitsForNoDisk(b), durability)
	}
	wal := protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), uint64(stoav1.Durability_DURABILITY_WAL))
	synced := protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), uint64(stoav1.Durability_DURABILITY_SYNCED))
	require.True(t, m.waitsForNoDisk(append(synced[:len(synced):len(synced)], wal...)), "the last one counts, as for who parses it")
	require.False(t, m.waitsForNoDisk(append(wal[:len(wal):len(wal)], synced...)))
	for cut := range len(wal) {
		require.False(t, m.waitsForNoDisk(wal[:cut]))
	}
	require.False(t, m.waitsForNoDisk(append(wal[:len(wal):len(wal)], 0xff)), "it does not parse")
}
