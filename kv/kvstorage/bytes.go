package kvstorage

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// Values are JSON. Bytes stand in it as DAG-JSON has them: an object whose only
// property "/" is an object whose only property "bytes" is their base64 of RFC
// 4648, without padding.
const (
	bytesBegin = `{"/":{"bytes":"`
	bytesEnd   = `"}}`
)

var bytesEncoding = base64.RawStdEncoding.Strict()

// FromBytes returns the value that stands for bytes, in canonical form.
func FromBytes(b []byte) json.RawMessage {
	value := make([]byte, 0, len(bytesBegin)+bytesEncoding.EncodedLen(len(b))+len(bytesEnd))
	value = bytesEncoding.AppendEncode(append(value, bytesBegin...), b)
	return append(value, bytesEnd...)
}

// ToBytes returns the bytes that a value in canonical form stands for, or false
// if it stands for none.
func ToBytes(value json.RawMessage) ([]byte, bool) {
	text, begins := bytes.CutPrefix(value, []byte(bytesBegin))
	text, ends := bytes.CutSuffix(text, []byte(bytesEnd))
	if !begins || !ends || bytes.ContainsAny(text, "\r\n") { // which the decoder would pass over
		return nil, false
	}
	b, err := bytesEncoding.AppendDecode([]byte{}, text)
	return b, err == nil
}

// Bytes returns the bytes that the value stands for. It returns an *Error for an item
// whose value stands for none.
func (i Item) Bytes() ([]byte, error) {
	b, ok := ToBytes(i.Value)
	if !ok {
		return nil, refuse(InvalidArgument, "value", "the value of %q is JSON that stands for no bytes", i.Key)
	}
	return b, nil
}

// Decode parses the value as JSON into what v points to, as [json.Unmarshal] does.
func (i Item) Decode(v any) error {
	if err := json.Unmarshal(i.Value, v); err != nil {
		return fmt.Errorf("kvstorage: the value of %q: %w", i.Key, err)
	}
	return nil
}
