package cutter

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
)

func TestBytesAreTakenInOrder(t *testing.T) {
	b := []byte{1, 7, 0x34, 0x12, 0x78, 0x56, 0x34, 0x12, 8, 0, 0, 0, 0, 0, 0, 1}
	b = append(b, 2, 0, 0, 0, 'h', 'i') // counted bytes
	hash := codec.Hash{31: 9}
	b = append(append(append(b, hash[:]...), hash[:]...), hash[:]...)
	c := New("T", append(b, 'x', 'y'))
	c.Version(1)
	require.Equal(t, byte(7), c.U8("u8"))
	require.Equal(t, uint16(0x1234), c.U16("u16"))
	require.Equal(t, uint32(0x12345678), c.U32("u32"))
	require.Equal(t, uint64(1<<56+8), c.U64("u64"))
	require.Equal(t, []byte("hi"), c.Bytes("bytes"))
	require.Equal(t, hash, c.Hash("hash"))
	require.Equal(t, []codec.Hash{hash, hash}, c.Hashes("hashes", 2))
	require.Equal(t, []byte("xy"), c.Take("rest", 2))
	require.NoError(t, c.End())
}

func TestTheFirstFaultIsKeptAndNothingComesAfterIt(t *testing.T) {
	for name, tc := range map[string]struct {
		bytes []byte
		cut   func(c *Cutter)
		fault codec.Error
	}{
		"too short":              {[]byte{1}, func(c *Cutter) { c.U8("a"); c.U16("b") }, codec.Error{Field: "b", Offset: 1, Reason: "2 bytes, 0 left"}},
		"too short for a number": {[]byte{1, 2, 3}, func(c *Cutter) { require.Zero(t, c.U32("a")) }, codec.Error{Field: "a", Offset: 0, Reason: "4 bytes, 3 left"}},
		"a count too large":      {[]byte{3, 0, 0, 0, 1, 2}, func(c *Cutter) { c.Bytes("a") }, codec.Error{Field: "a", Offset: 4, Reason: "a count of 3, 2 bytes left"}},
		"an element too large": {[]byte{1, 0, 0, 0, 1, 2}, func(c *Cutter) { c.Count("a", 3) },
			codec.Error{Field: "a", Offset: 4, Reason: "a count of 1, 2 bytes left"}},
		"the largest count": {[]byte{255, 255, 255, 255}, func(c *Cutter) { c.Count("a", 1<<20) },
			codec.Error{Field: "a", Offset: 4, Reason: "a count of 4294967295, 0 bytes left"}},
		"another version": {[]byte{2, 0}, func(c *Cutter) { c.Version(1) }, codec.Error{Field: "version", Offset: 1, Reason: "unknown, this is version 1"}},
		"bytes left":      {[]byte{2, 0}, func(c *Cutter) { c.U8("a") }, codec.Error{Offset: 1, Reason: "1 bytes after the end"}},
		"two faults":      {[]byte{2}, func(c *Cutter) { c.Fail("a", "first"); c.Fail("b", "second") }, codec.Error{Field: "a", Reason: "first"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := New("T", tc.bytes)
			tc.cut(&c)
			tc.fault.Type = "T"
			require.Equal(t, &tc.fault, c.End())
			require.Empty(t, c.Rest)
			require.Zero(t, c.U8("later"))
			require.Zero(t, c.U64("later"))
			require.Zero(t, c.Hash("later"))
			require.Nil(t, c.Hashes("later", 1))
			require.Nil(t, c.Bytes("later"))
			require.Equal(t, &tc.fault, c.End())
		})
	}
}

func TestAnEmptyListFits(t *testing.T) {
	c := New("T", []byte{0, 0, 0, 0, 2, 0, 0, 0, 1, 2, 3, 4})
	require.Zero(t, c.Count("none", 100))
	require.Equal(t, 2, c.Count("two", 2), "the elements fill the rest")
	require.Len(t, c.Take("them", 4), 4)
	require.NoError(t, c.End())
}
