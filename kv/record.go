package kv

import (
	"encoding/binary"
	"time"
)

// Kind is what a change did to a key.
type Kind uint8

const (
	// Put stored a record.
	Put Kind = 1 + iota
	// Deleted removed one because somebody said so.
	Deleted
	// Expired removed one because its time had come.
	Expired
)

// String is the kind as events spell it.
func (k Kind) String() string {
	switch k {
	case Put:
		return "put"
	case Deleted:
		return "delete"
	case Expired:
		return "expire"
	}
	return "none"
}

// Record is what a key has, or had at a revision.
type Record struct {
	Key      []byte
	Value    []byte // where Kind is not Put: what it was, if the type says so, and else nil
	Kind     Kind
	Form     uint8     // what kind of value it is, by whoever put it
	Revision uint64    // of the change that made it
	Created  uint64    // revision of the put since which the key has been there
	Written  time.Time // when
	Expires  time.Time // from then on it is absent; zero: never

	expires uint64 // ms since 1970; 0: never
}

// expired reports whether the record is no longer there at a time.
func (r *Record) expired(now uint64) bool { return r.expires != 0 && now >= r.expires }

// recordHeader is the length of what precedes the value of a record:
//
//	kind u8 ‖ form u8 ‖ revision u64 ‖ created u64 ‖ written u64 ms ‖ expires u64 ms, 0: never
//
// in little endian.
const recordHeader = 2 + 4*8

func appendRecord(dst []byte, r *Record) []byte {
	dst = append(dst, byte(r.Kind), r.Form)
	dst = binary.LittleEndian.AppendUint64(dst, r.Revision)
	dst = binary.LittleEndian.AppendUint64(dst, r.Created)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.Written.UnixMilli()))
	dst = binary.LittleEndian.AppendUint64(dst, r.expires)
	return append(dst, r.Value...)
}

// parseRecord parses the value of a record, history or log row, whose record has
// the key; the result's Value is a part of src.
func parseRecord(row, key, src []byte) (r Record, err error) {
	if len(src) < recordHeader {
		return r, damaged(row, "a record that is cut short")
	}
	r = Record{
		Key: key, Kind: Kind(src[0]), Form: src[1],
		Revision: binary.LittleEndian.Uint64(src[2:]),
		Created:  binary.LittleEndian.Uint64(src[10:]),
		Written:  timeOf(binary.LittleEndian.Uint64(src[18:])),
		expires:  binary.LittleEndian.Uint64(src[26:]),
	}
	r.Expires = timeOf(r.expires)
	switch {
	case !isTime(src[18:]) || r.expires > maxTime:
		return r, damaged(row, "a record whose times are out of range")
	case r.Kind < Put || r.Kind > Expired:
		return r, damaged(row, "a record of no known kind")
	case r.Revision == 0 || r.Created > r.Revision || r.Kind == Put && r.Created == 0:
		return r, damaged(row, "a record whose revisions are not in order")
	}
	if r.Kind != Put && len(src) > recordHeader && shapeOf(row) == ShapeRecord {
		return r, damaged(row, "a value in a record of a "+r.Kind.String())
	}
	if len(src) > recordHeader || r.Kind == Put {
		r.Value = src[recordHeader:]
	}
	return r, nil
}

// A log row's value is flags u8 ‖ key length u16 ‖ key ‖ record. With
// logElsewhere the record's value is left out: it is that of the record row, if
// that has the same revision, and else nobody needs it, since a later change of
// the key follows.
const logElsewhere = 1

func appendLog(dst []byte, r *Record, inline int) []byte {
	short, flags := *r, byte(0)
	if len(r.Value) > inline {
		short.Value, flags = nil, logElsewhere
	}
	dst = append(dst, flags)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(r.Key)))
	return appendRecord(append(dst, r.Key...), &short)
}

func parseLog(row, src []byte) (r Record, elsewhere bool, err error) {
	if len(src) < 3 || src[0] > logElsewhere {
		return r, false, damaged(row, "a change that is cut short or has unknown flags")
	}
	elsewhere, n := src[0] == logElsewhere, int(binary.LittleEndian.Uint16(src[1:]))
	if src = src[3:]; len(src) < n {
		return r, false, damaged(row, "a change whose key is cut short")
	}
	r, err = parseRecord(row, src[:n:n], src[n:])
	if err == nil && elsewhere && len(r.Value) > 0 {
		err = damaged(row, "a change that has the value that it leaves out")
	}
	return r, elsewhere, err
}
