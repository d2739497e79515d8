// Package fault is the errors that cross the socket: one table says of each how it goes
// over the wire, what errors.Is finds on both ends, and which exit code and hint a command
// ends with. Both ends and the command line use it.
//
// Start at the table, errorTable. A daemon makes an [Error] of what failed with [Describe],
// a client takes it off the wire with [FromStatus]. Package rpc tells clients' users of it.
package fault

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Domain is the domain of the google.rpc.ErrorInfo of every error of a daemon.
const Domain = "stoa"

// Error is an error of a daemon. Its kind says what went wrong and which fields
// it has. errors.Is and errors.As find the error of the domain that it stands for, with
// its data. An Error is not changed once made.
type Error struct {
	Kind    stoav1.ErrorKind
	Message string // for people
	Fields  map[string]string

	code  codes.Code // of a kind that this package does not know
	cause error
}

// KindOf is the kind of an error as the daemon spells it, such as KV_CONFLICT; "": it has none.
func KindOf(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return ""
	}
	return reasonOf(e.Kind)
}

// New returns an error of kind k. pairs are names of fields and their
// values in turn.
func New(k stoav1.ErrorKind, message string, pairs ...string) *Error {
	e := &Error{Kind: k, Message: message, Fields: make(map[string]string, len(pairs)/2)}
	for i := 0; i+1 < len(pairs); i += 2 {
		e.Fields[pairs[i]] = pairs[i+1]
	}
	e.cause = e.rebuild()
	return e
}

// With returns a copy of e with one more field.
func (e *Error) With(name, value string) *Error {
	c := *e
	c.Fields = make(map[string]string, len(e.Fields)+1)
	for n, v := range e.Fields {
		c.Fields[n] = v
	}
	c.Fields[name] = value
	return &c
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the error that e stands for.
func (e *Error) Unwrap() error { return e.cause }

// Code returns the gRPC code.
func (e *Error) Code() codes.Code {
	if k, ok := kindOf(e.Kind); ok {
		return k.code
	}
	return e.code
}

// GRPCStatus returns what goes over the wire.
func (e *Error) GRPCStatus() *status.Status {
	s := status.New(e.Code(), e.Message)
	with, err := s.WithDetails(&errdetails.ErrorInfo{Domain: Domain, Reason: reasonOf(e.Kind), Metadata: e.Fields})
	if err != nil { // the code is OK, which no kind has
		return s
	}
	return with
}

// InSession returns e as it stands in the answer of a session.
func (e *Error) InSession() *stoav1.Error {
	return &stoav1.Error{Code: uint32(e.Code()), Message: e.Message, Kind: e.Kind, Fields: e.Fields}
}

// FromSession returns the error that a session, or a stream of many requests, answered.
func FromSession(m *stoav1.Error) *Error {
	e := &Error{Kind: m.GetKind(), Message: m.GetMessage(), Fields: m.GetFields(), code: codes.Code(m.GetCode())}
	e.cause = e.rebuild()
	return e
}

// rebuild returns the error that e stands for, from its fields.
func (e *Error) rebuild() error {
	k, known := kindOf(e.Kind)
	switch {
	case known && k.data != nil:
		return k.data.rebuild(e)
	case !known && e.code == codes.Unavailable:
		return ErrUnavailable
	case !known && e.code == codes.Unimplemented: // the daemon is older than the call
		return engine.ErrUnsupported
	}
	return k.is
}

func (e *Error) column() column.Column {
	col, _ := column.Parse(e.Fields[FieldColumn])
	return col
}

func (e *Error) offset() int {
	n, err := strconv.Atoi(e.Fields[FieldOffset])
	if err != nil {
		return -1
	}
	return n
}

// number returns the number in a field of e; 0 if there is none.
func (e *Error) number(field string) uint64 {
	n, _ := strconv.ParseUint(e.Fields[field], 10, 64)
	return n
}

// maxErrorKey is the most bytes of a key in an error: what answers carry beside
// their data is small.
const maxErrorKey = 1024

// keyFields returns the fields that name a key.
func keyFields(col column.Column, key []byte) []string {
	fields := []string{FieldColumn, col.String()}
	if len(key) > maxErrorKey {
		fields = append(fields, FieldKeySize, strconv.Itoa(len(key)))
		key = key[:maxErrorKey]
	}
	return append(fields, FieldKey, hex.EncodeToString(key))
}

// OfKey returns an error of kind k about one key. pairs are more fields.
func OfKey(k stoav1.ErrorKind, col column.Column, key []byte, message string, pairs ...string) *Error {
	return New(k, message, append(keyFields(col, key), pairs...)...)
}

const kindPrefix = "ERROR_KIND_"

// reasonOf returns the name of k in a google.rpc.ErrorInfo.
func reasonOf(k stoav1.ErrorKind) string { return strings.TrimPrefix(k.String(), kindPrefix) }

// kindNamed returns the kind with that name in a google.rpc.ErrorInfo.
func kindNamed(reason string) stoav1.ErrorKind {
	return stoav1.ErrorKind(stoav1.ErrorKind_value[kindPrefix+reason])
}
