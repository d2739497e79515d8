package view

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"
)

// longestValue is how many bytes of a value are shown.
const longestValue = 8 << 10

// valueDoc is a value, or the beginning of a long one, as what it is: JSON, text, or other
// bytes in hex.
type valueDoc struct {
	Size int             `json:"size"` // bytes of all of it
	JSON json.RawMessage `json:"value,omitempty"`
	Text *string         `json:"text,omitempty"`
	Hex  string          `json:"hex,omitempty"`
	Cut  bool            `json:"cut,omitempty"`
}

func newValueDoc(all []byte) valueDoc {
	d, value := valueDoc{Size: len(all)}, all
	if d.Cut = len(value) > longestValue; d.Cut {
		value = value[:longestValue]
		for i := 0; i < utf8.UTFMax && utf8.Valid(all) && !utf8.Valid(value); i++ { // not in the middle of a rune
			value = value[:len(value)-1]
		}
	}
	switch {
	case !d.Cut && utf8.Valid(value) && json.Valid(value):
		d.JSON = value
	case utf8.Valid(value) && !bytes.ContainsRune(value, 0):
		text := string(value)
		d.Text = &text
	default:
		d.Hex = hex.EncodeToString(value)
	}
	return d
}
