package rpc

import (
	"encoding/hex"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Domain is the domain of the google.rpc.ErrorInfo of every error of a daemon.
const Domain = "stoa"

// The names of the fields of errors.
const (
	FieldColumn      = "column"      // the name of a column
	FieldKey         = "key"         // hex; of a key over 1,024 bytes its beginning
	FieldKeySize     = "key_size"    // the bytes of a key whose beginning is given
	FieldType        = "type"        // of a key or a value
	FieldField       = "field"       // of a key, a value or a request
	FieldOffset      = "offset"      // in a key or a value, in bytes
	FieldReason      = "reason"      // for people
	FieldChange      = "change"      // the number of a change of a batch, from 0
	FieldExpectation = "expectation" // the number of an expectation, from 0
	FieldAbsent      = "absent"      // "true": nothing was expected under the key
	FieldLimit       = "limit"
	FieldSize        = "size"
	FieldWhat        = "what"     // what there is too much of
	FieldSnapshot    = "snapshot" // the number of a snapshot
	FieldStart       = "start"    // hex, of a range
	FieldEnd         = "end"      // hex, of a range
	FieldIncident    = "incident" // what to look for in the daemon's log
	FieldBlob        = "blob_id"  // hex
	FieldApplication = "application_id"
	FieldDeclared    = "declared"
	FieldActual      = "actual"
	FieldContext     = "context_id"   // hex
	FieldDelta       = "delta_id"     // hex
	FieldRoot        = "root_hash"    // hex
	FieldTime        = "time"         // of a stamp, NTP64
	FieldNode        = "node_id"      // decimal
	FieldRead        = "read"         // hex: the root that was read
	FieldDetail      = "detail"       // for people
	FieldOwner       = "owner"        // a service
	FieldPhysical    = "physical"     // a time, RFC 3339
	FieldNext        = "next"         // a time, RFC 3339
	FieldExpected    = "expected"     // a time, RFC 3339
	FieldRetryAfter  = "retry_after"  // milliseconds
	FieldCode        = "code"         // of a refusal of the Kv service
	FieldTenant      = "tenant"       // of the Kv service
	FieldNamespace   = "namespace_id" // hex
	FieldGroup       = "group_id"     // hex
	FieldOp          = "op_id"        // hex
)

// WhatRequests is the value of FieldWhat when too many bytes of requests are
// under way: the request was not looked at.
const WhatRequests = "requests"

// WhatCalls is the value of FieldWhat when a connection has too many calls under
// way: the request was not looked at.
const WhatCalls = "calls of one connection"

// Error is an error of a daemon. Its kind says what went wrong and which fields
// it has. errors.Is and errors.As find the error of package engine, keys,
// codec, dag or kvstorage that it stands for, with its data. An Error is not changed once made.
type Error struct {
	Kind    stoav1.ErrorKind
	Message string // for people
	Fields  map[string]string

	code  codes.Code // of a kind that this package does not know
	cause error
}

// NewError returns an error of kind k. pairs are names of fields and their
// values in turn.
func NewError(k stoav1.ErrorKind, message string, pairs ...string) *Error {
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

// fromSession returns the error that a session answered.
func fromSession(m *stoav1.Error) *Error {
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

// KeyError returns an error of kind k about one key. pairs are more fields.
func KeyError(k stoav1.ErrorKind, col column.Column, key []byte, message string, pairs ...string) *Error {
	return NewError(k, message, append(keyFields(col, key), pairs...)...)
}
