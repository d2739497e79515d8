// Package op describes operations: what a method is called and who may call it, how
// its messages carry what the Go API takes and returns, and what it does in the
// domain. One description serves both ends: the client calls by it, and the server
// registers it with gRPC and in frames.
//
// An operation is a [Unary] or a [Stream] of package rpc, beside the method of the
// client that calls it. A [Map] carries values between messages and Go, in both
// directions: a function of it names each field once.
package op
