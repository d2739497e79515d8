package seal

import (
	"bytes"
	"fmt"
	"io"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// A sealed value is
//
//	STS1 | key id 8 | nonce 24 | ciphertext and tag of the value
//
// bound to its family and its key.
const (
	boxMark   = "STS1"
	boxHeader = len(boxMark) + 8 + chacha20poly1305.NonceSizeX
)

// bound returns what a value is bound to.
func bound(col column.Column, key []byte) []byte {
	name := col.String()
	b := make([]byte, 0, len(name)+1+len(key))
	return append(append(append(b, name...), 0), key...)
}

// seal appends the sealed value to dst.
func (r *ring) seal(dst []byte, col column.Column, key, value []byte, random io.Reader) ([]byte, error) {
	k := &r.keys[0]
	dst = append(append(dst, boxMark...), k.id[:]...)
	var nonce [chacha20poly1305.NonceSizeX]byte
	if _, err := io.ReadFull(random, nonce[:]); err != nil {
		return nil, fmt.Errorf("seal: draw a nonce: %w", err)
	}
	dst = append(dst, nonce[:]...)
	return k.aead.Seal(dst, nonce[:], value, bound(col, key)), nil
}

// open returns the value that is sealed in box, which it overwrites. It returns
// engine.ErrCorrupt for one that was changed, or sealed for another key.
func (r *ring) open(col column.Column, key, box []byte) ([]byte, error) {
	id, sealed := sealedWith(box)
	switch {
	case !sealed && r.sealing:
		return box, nil
	case !sealed:
		return nil, fmt.Errorf("%w: %s %x: a plain secret in a sealed store", engine.ErrCorrupt, col, key)
	}
	k := r.find(id)
	if k == nil {
		return nil, fmt.Errorf("%w: %s %x: sealed with the key %x, which the store does not have", engine.ErrCorrupt, col, key, id)
	}
	nonce := box[len(boxMark)+len(id) : boxHeader]
	value, err := k.aead.Open(box[boxHeader:boxHeader], nonce, box[boxHeader:], bound(col, key))
	if err != nil {
		return nil, fmt.Errorf("%w: %s %x: the sealed secret was changed, or belongs to another key", engine.ErrCorrupt, col, key)
	}
	return value, nil
}

// sealedWith returns the id of the key that a value is sealed with. No secret in
// its plain form begins like a sealed one and has the length of one: it begins
// with 0 or 1, with the length of a key, or is at most 96 bytes long where a
// sealed one is longer.
func sealedWith(value []byte) (id KeyID, ok bool) {
	if len(value) < boxHeader+chacha20poly1305.Overhead || !bytes.HasPrefix(value, []byte(boxMark)) {
		return id, false
	}
	return KeyID(value[len(boxMark):]), true
}

// hasSecrets reports whether a range of a column may hold secrets.
func hasSecrets(col column.Column, rg engine.Range) bool {
	for _, s := range keys.SealedRanges(col) {
		before := rg.End != nil && s.Start != nil && bytes.Compare(rg.End, s.Start) <= 0
		after := s.End != nil && bytes.Compare(rg.Start, s.End) >= 0
		if !before && !after {
			return true
		}
	}
	return false
}
