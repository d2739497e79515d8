package inspect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
)

// Record is a row as JSON. Secrets are redacted in it unless they are asked for, and
// so is the value of a row that does not parse, by its length and digest: of what
// another program wrote, or damage has moved, nobody knows that it holds no secret.
type Record struct {
	Column string          `json:"column,omitempty"`
	Type   string          `json:"type,omitempty"`
	Key    json.RawMessage `json:"key,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	KV     json.RawMessage `json:"kv,omitempty"` // of a row of key-values: its shape and what is in its key
	// Document is what a row of a collection says. Its writeOnly fields are redacted as
	// secrets are, and then Value is too.
	Document *Document `json:"record,omitempty"`
	KeyHex   string    `json:"key_hex,omitempty"` // of a key that does not parse
	Hex      string    `json:"hex,omitempty"`     // of a value that does not parse, where it is asked for
	Sealed   string    `json:"sealed,omitempty"`  // the id of the key that a value is sealed with
	Fault    string    `json:"fault,omitempty"`   // why it does not parse
}

// sealMark begins a sealed value; the id of its key follows.
const (
	sealMark   = "STS1"
	sealKeyLen = 8
)

// sealedWith returns the id of the key that a secret value is sealed with, in
// hex; "" if it is not sealed.
func sealedWith(col column.Column, key, value []byte) string {
	if !keys.Secret(col, key) || len(value) < len(sealMark)+sealKeyLen || string(value[:len(sealMark)]) != sealMark {
		return ""
	}
	return hex.EncodeToString(value[len(sealMark):][:sealKeyLen])
}

// recordOf returns a record without its value.
func recordOf(col column.Column, key []byte) Record {
	r := Record{Column: col.String()}
	info, err := keys.Identify(col, key)
	if err == nil {
		r.Key, err = info.KeyJSON(key)
	}
	if err != nil {
		r.KeyHex, r.Fault = hex.EncodeToString(key), err.Error()
		return r
	}
	r.Type = info.Name
	r.KV = KeyValues(col, key)
	return r
}

// KeyValues returns what package kv says of the key of one of its rows; nil if it is
// none.
func KeyValues(col column.Column, key []byte) json.RawMessage {
	if col != column.Generic || !keys.Scope(key).IsKV() {
		return nil
	}
	row, err := kv.ParseRow(key)
	if err != nil {
		return nil
	}
	text, err := json.Marshal(row)
	if err != nil {
		return nil
	}
	return text
}

// hideOrShow sets the bytes of a value that does not parse, or says what they are.
func (r *Record) hideOrShow(value []byte, reveal bool) {
	if reveal {
		r.Hex = hex.EncodeToString(value)
		return
	}
	sum := sha256.Sum256(value)
	r.Fault += fmt.Sprintf(" (the value is not shown: %d bytes, SHA-256 %x…)", len(value), sum[:8])
}
