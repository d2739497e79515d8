package kv

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"

	"github.com/stoadb/stoa/keys"
)

// A cursor is mac 16 ‖ position, in unpadded base64url. The position is the row, after
// its scope, that the next page begins after; the mac is over it, the space and
// the question that was asked, so that no cursor works for another tenant or
// another question, and none can be made up. Cursors hold as long as the store's
// data does.
const (
	secretBytes = 32
	macBytes    = 16
)

func (s *Store) mac(scope keys.Scope, question, position []byte) []byte {
	s.mu.RLock()
	h := hmac.New(sha256.New, s.secret)
	s.mu.RUnlock()
	h.Write(scope[:])
	h.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(question))))
	h.Write(question)
	h.Write(position)
	return h.Sum(nil)[:macBytes]
}

func (s *Store) cursor(scope keys.Scope, question, position []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(s.mac(scope, question, position), position...))
}

// position returns where a cursor goes on, or ErrInvalidCursor.
func (s *Store) position(scope keys.Scope, question []byte, cursor string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < macBytes || subtle.ConstantTimeCompare(raw[:macBytes], s.mac(scope, question, raw[macBytes:])) != 1 {
		return nil, noCursor()
	}
	return bytes.Clone(raw[macBytes:]), nil
}

func noCursor() error {
	return &Error{Code: CodeInvalidCursor, Field: "cursor", Reason: "it is not of a page of this listing: begin without one"}
}
