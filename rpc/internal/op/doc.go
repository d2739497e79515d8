// Package op describes operations: what a method is called and who may call it, how
// its messages carry what the Go API takes and returns, and what it does in the
// domain. One description serves both ends: the client calls by it, and the server, which
// has them of [Entries], registers it with gRPC and in frames.
//
// An operation is a [Unary] or a [Stream] of package rpc, beside the method of the client
// that calls it, or a [Hand] if both ends write out what they do. Messages are mapped onto
// Go structs by the names of their fields, as planned when an operation is first called;
// a test of package rpc plans all. [Tags] say how the fields of a type of another package
// are called there. Where a message says it in another way, there is a [Pair] of functions
// for a type, what is [Also] done after the fields, a type that another is carried [Via],
// or a [Custom] mapping of the whole; an answer of many small parts may be [Handmade].
package op
