// Package op describes operations: what a method is called and who may call it, how
// its messages carry what the Go API takes and returns, and what it does in the
// domain. One description serves both ends: the client calls by it, and the server
// registers it with gRPC and in frames.
//
// An operation is a [Unary] or a [Stream] of package rpc, beside the method of the client
// that calls it. Messages are mapped onto Go structs by the names of their fields, as
// planned when the program begins; where a message says it in another way, by a [Pair] of
// functions for a type or a [Custom] mapping of the whole.
package op
