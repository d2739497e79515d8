package fault

import "errors"

// Errors that only calls over a socket have; package rpc says when each is returned.
var (
	ErrUnavailable = errors.New("rpc: unavailable")
	ErrBusy        = errors.New("rpc: busy")
	ErrSecret      = errors.New("rpc: secret")
	ErrRequest     = errors.New("rpc: bad request")
	ErrInternal    = errors.New("rpc: internal error")
	ErrOwned       = errors.New("rpc: owned")
	ErrBound       = errors.New("rpc: bound to a tenant")
	ErrRole        = errors.New("rpc: not for this peer")
)

// Errors of reaching a daemon, as package rpc says.
var (
	ErrSocketPath = errors.New("rpc: not a socket path")
	ErrNoDaemon   = errors.New("rpc: no daemon")
	ErrRefused    = errors.New("rpc: refused")
	ErrStranger   = errors.New("rpc: a stranger serves the socket")
)
