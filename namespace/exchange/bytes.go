package exchange

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/stoadb/stoa/codec/cutter"
)

// token is a hash that is cut short.
type token [16]byte

// tokenOf takes one off.
func tokenOf(c *cutter.Cutter, field string) (t token) {
	copy(t[:], c.Take(field, len(t)))
	return t
}

// hashesOf takes off a list of at most most ids.
func hashesOf[ID ~[32]byte](c *cutter.Cutter, field string, most int) (ids []ID) {
	n := c.Count(field, len(ID{}))
	if n > most {
		c.Fail(field, fmt.Sprintf("%d ids, at most %d", n, most))
	}
	for _, h := range c.Hashes(field, n) {
		ids = append(ids, ID(h))
	}
	return ids
}

// appendIDs appends a list of ids behind its length.
func appendIDs[ID ~[32]byte](b []byte, ids []ID) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(ids)))
	for _, id := range ids {
		b = append(b, id[:]...)
	}
	return b
}

// hashOf returns the hash of ids.
func hashOf[ID ~[32]byte](ids []ID) []byte {
	h := sha256.New()
	for _, id := range ids {
		h.Write(id[:])
	}
	return h.Sum(nil)
}

// digestOf returns the hash of ids, cut short.
func digestOf[ID ~[32]byte](ids []ID) token { return token(hashOf(ids)[:16]) }

// ended returns [ErrProtocol] unless a message ends where it is to, and was as it is to be.
func ended(c *cutter.Cutter) error {
	if err := c.End(); err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return nil
}
