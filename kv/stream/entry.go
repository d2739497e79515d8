package stream

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket/subject"
)

// Message is what is added to a stream.
type Message struct {
	Subject string // what it is about, by which consumers filter: a key of package subject
	Payload []byte // at most MaxPayload bytes
}

// Entry is a message in its stream.
type Entry struct {
	Number uint64    // 1 for the first of the stream, and then without a gap
	Time   time.Time // when it was added; never before that of an earlier entry
	Message
}

// check returns what is wrong with a message.
func (m *Message) check() error {
	if err := subject.Check(m.Subject); err != nil {
		return invalid("subject", "%s", err)
	}
	if len(m.Payload) > MaxPayload {
		return beyond(CodeTooLarge, "payload", MaxPayload, len(m.Payload), "the payload has %d bytes, at most %d", len(m.Payload), MaxPayload)
	}
	return nil
}

// version is the first byte of what is stored, of which README.md has the others.
const version = 1

// size is how many bytes a message is stored in.
func (m *Message) size() int { return 3 + len(m.Subject) + len(m.Payload) }

func (m *Message) append(dst []byte) []byte {
	return append(appendText(append(dst, version), m.Subject), m.Payload...)
}

func appendText(dst []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint16(dst, uint16(len(text))), text...)
}

// cutText returns the text that some bytes begin with, and what follows it.
func cutText(src []byte) (text string, rest []byte, ok bool) {
	if len(src) < 2 || len(src)-2 < int(binary.LittleEndian.Uint16(src)) {
		return "", nil, false
	}
	n := 2 + int(binary.LittleEndian.Uint16(src))
	return string(src[2:n]), src[n:], true
}

// parseMessage returns the message of some bytes, of which its payload is a part, or
// engine.ErrCorrupt.
func parseMessage(src []byte) (m Message, err error) {
	if len(src) == 0 || src[0] != version {
		return m, damaged("an entry that is not of version %d", version)
	}
	text, rest, ok := cutText(src[1:])
	if !ok {
		return m, damaged("an entry that is cut short")
	}
	m = Message{text, rest}
	if err := m.check(); err != nil {
		return m, damaged("an entry: %s", err)
	}
	return m, nil
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("stream: %w: %s", engine.ErrCorrupt, fmt.Sprintf(format, args...))
}

// entryOf is an entry of package kv. They share memory.
func entryOf(e kv.Entry) (Entry, error) {
	m, err := parseMessage(e.Payload)
	return Entry{e.Number, e.Time, m}, err
}
