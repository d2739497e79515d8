package cli

import (
	"bytes"
	"encoding/json"
	"time"
	"unicode/utf8"
)

// Instant is a time for people and in JSON, in UTC to the millisecond; "": there is none.
func Instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// Content is bytes that somebody stored, as JSON has them: as they are if they are JSON, on one
// line; else nil, and all of them.
func Content(b []byte) (text json.RawMessage, other *[]byte) {
	var line bytes.Buffer
	if utf8.Valid(b) && json.Compact(&line, b) == nil {
		return line.Bytes(), nil
	}
	if b == nil {
		b = []byte{} // or it would be null
	}
	return nil, &b
}

// ContentText is Content for people: bytes that are no text are quoted.
func ContentText(b []byte) string {
	if text, _ := Content(b); text != nil {
		return Plain(string(text))
	}
	return Plain(string(b))
}
