package fault

import (
	"encoding/hex"
	"errors"
	"regexp"
	"strconv"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// data is what an error has beside its text.
type data struct {
	fits     func(error) bool
	describe func(error) (message string, pairs []string) // names of fields, and their values, in turn
	rebuild  func(*Error) error                           // what describe has described; what a field does not say is zero
}

// typed is the data of errors of type E, whose message is theirs.
func typed[E error](pairs func(E) []string, rebuild func(*Error) error) *data {
	d := described(func(e E) (string, []string) { return e.Error(), pairs(e) })
	d.rebuild = rebuild
	return d
}

// refused is the data of those refusals of type E that are of one kind.
func refused[E error](kind stoav1.ErrorKind, kindOf func(E) stoav1.ErrorKind, pairs func(E) []string, rebuild func(*Error) error) *data {
	d := typed(pairs, rebuild)
	d.fits = func(err error) bool {
		var e E
		return errors.As(err, &e) && kindOf(e) == kind
	}
	return d
}

// fieldOf is the field that an error is about; "" if it does not say one.
func (d *data) fieldOf(err error) string {
	_, pairs := d.describe(err)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] == FieldField {
			return pairs[i+1]
		}
	}
	return ""
}

// described is the data of errors of type E that the other end finds the sentinel of only.
func described[E error](as func(E) (message string, pairs []string)) *data {
	return &data{
		fits: func(err error) bool {
			var e E
			return errors.As(err, &e)
		},
		describe: func(err error) (string, []string) {
			var e E
			errors.As(err, &e)
			return as(e)
		},
	}
}

// Describe returns err as it goes over the wire, or nil if it has no kind: an
// error that is not foreseen, whose text is for the daemon's log only.
func Describe(err error) *Error {
	var told *Error
	if errors.As(err, &told) {
		return told
	}
	for i := range errorTable {
		k := &errorTable[i]
		switch {
		case k.kind == stoav1.ErrorKind_ERROR_KIND_UNSPECIFIED || !k.fits(err):
			continue
		case k.data != nil:
			message, pairs := k.data.describe(err)
			return New(k.kind, message, pairs...)
		}
		text := withoutPaths(err.Error())
		return New(k.kind, text, FieldReason, text)
	}
	return nil
}

var conflictData = typed(func(c *engine.Conflict) []string {
	return append(keyFields(c.Column, c.Key), FieldAbsent, strconv.FormatBool(c.Absent))
}, func(e *Error) error {
	key, _ := hex.DecodeString(e.Fields[FieldKey])
	return &engine.Conflict{Column: e.column(), Key: key, Absent: e.Fields[FieldAbsent] == "true"}
})

var keyData = typed(func(k *keys.Error) []string {
	return []string{FieldColumn, k.Column.String(), FieldType, k.Type, FieldField, k.Field, FieldOffset, strconv.Itoa(k.Offset), FieldReason, k.Reason}
}, func(e *Error) error {
	return &keys.Error{Column: e.column(), Type: e.Fields[FieldType], Field: e.Fields[FieldField], Offset: e.offset(), Reason: e.Fields[FieldReason]}
})

var valueData = typed(func(v *codec.Error) []string {
	return []string{FieldType, v.Type, FieldField, v.Field, FieldOffset, strconv.Itoa(v.Offset), FieldReason, v.Reason}
}, func(e *Error) error {
	return &codec.Error{Type: e.Fields[FieldType], Field: e.Fields[FieldField], Offset: e.offset(), Reason: e.Fields[FieldReason]}
})

// internalData fits nothing: a daemon logs such errors, and tells where.
var internalData = &data{fits: func(error) bool { return false }, rebuild: func(*Error) error { return ErrInternal }}

// DescribeRow returns err, what keys.Check says of a row, as it goes over the
// wire, with the key. pairs are more fields.
func DescribeRow(err error, col column.Column, key []byte, pairs ...string) *Error {
	e := Describe(err)
	if e == nil {
		return nil
	}
	for fields := append(keyFields(col, key), pairs...); len(fields) > 1; fields = fields[2:] {
		e.Fields[fields[0]] = fields[1]
	}
	return e
}

// paths are absolute paths of the daemon's machine, but for their last part.
var paths = regexp.MustCompile(`(^|[\s"'=(:])/(?:[^\s:"'()]*/)*([^\s:"'()/]*)`)

// withoutPaths returns text with the last part only of every path in it.
func withoutPaths(text string) string { return paths.ReplaceAllString(text, "$1$2") }
