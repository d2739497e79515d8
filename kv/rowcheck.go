package kv

import "encoding/binary"

// CheckRow returns an error that is engine.ErrCorrupt for a row of the key-values that
// does not parse: its key, or its value, where that is a record, a change of the log, or
// a kept revision. What other rows say is not looked at; [Check] does that.
func CheckRow(key, value []byte) error {
	row, err := ParseRow(key)
	if err != nil {
		return err
	}
	_, _, err = RecordOf(row, value)
	return err
}

// RecordOf returns the record that a row of shape record, revision or log has, and
// whether all of it is there: a change of the log may leave out the value, which then is
// that of the record. A row of another shape has none, of the kind 0. The record shares
// memory with row and value. It returns engine.ErrCorrupt.
func RecordOf(row Row, value []byte) (r Record, whole bool, err error) {
	switch row.Shape {
	case ShapeRecord:
		r, err = parseRecord(row.AppendKey(nil), row.Key, value)
	case ShapeRevision:
		r, err = parseRecord(row.AppendKey(nil), row.Name, value)
	case ShapeLog:
		var elsewhere bool
		r, elsewhere, err = parseLog(row.AppendKey(nil), value)
		return r, !elsewhere, err
	default:
		return Record{}, false, nil
	}
	return r, true, err
}

// EntryOf returns the entry of a stream that a row of shape entry has. It shares memory
// with value. It returns engine.ErrCorrupt.
func EntryOf(row Row, value []byte) (Entry, error) {
	e, err := parseEntry(row.AppendKey(nil), value)
	e.Number = row.Number
	return e, err
}

// PendingOf returns the pending entry of a row of shape pending. It returns engine.ErrCorrupt.
func PendingOf(row Row, value []byte) (Pending, error) {
	p, err := parsePending(row.AppendKey(nil), value)
	p.Number = row.Number
	return p, err
}

// WithValue returns the value of a row of shape record, revision or log that RecordOf has
// read, as it is with another value in its record, for copies of a store.
func WithValue(row Row, stored, value []byte) []byte {
	header := recordHeader
	if row.Shape == ShapeLog {
		header += 3 + int(binary.LittleEndian.Uint16(stored[1:]))
	}
	return append(stored[:header:header], value...)
}

// StatsOf returns the counters of a space that a row of shape meta has. It returns
// engine.ErrCorrupt.
func StatsOf(row Row, value []byte) (Stats, error) { return parseMeta(row.AppendKey(nil), value) }

// WithFewerBytes returns the value of a row of shape meta as it is where the records of
// the space have so many bytes less, for copies of a store. It returns engine.ErrCorrupt.
func WithFewerBytes(row Row, stored []byte, less uint64) ([]byte, error) {
	m, err := StatsOf(row, stored)
	if err != nil {
		return nil, err
	}
	m.Bytes -= min(less, m.Bytes)
	return appendMeta(nil, &m), nil
}
