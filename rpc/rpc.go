// Package rpc is the store over a Unix socket: a client, whose Store is an
// engine.Reader and engine.Writer, and the errors that cross the socket. Package
// server is the other end; package stoav1 is the protocol, generated from proto.
//
// Start at Dial. README.md is the protocol for clients in other languages.
package rpc

import "github.com/stoadb/stoa/rpc/internal/wire"

// Limits of what one call may carry.
const (
	// MaxLookups is the most keys of a MultiGet.
	MaxLookups = wire.MaxLookups
)
