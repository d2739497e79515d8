package server

import (
	"context"

	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/server/internal/framed"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// aboutGov returns err with the field that says what it is about, where it is of a
// kind of the services Namespace and Group; nil is nil.
func aboutGov(err error, name, value string) error {
	known := fault.Describe(err)
	if known == nil || known.Kind < stoav1.ErrorKind_ERROR_KIND_NO_NAMESPACE || known.Kind > stoav1.ErrorKind_ERROR_KIND_NO_CONTEXT_KEY ||
		known.Kind == stoav1.ErrorKind_ERROR_KIND_CLOCK_JUMPED {
		return err
	}
	return known.With(name, value)
}

// maySeal refuses peers that may not read secrets.
func (s *Server) maySeal(ctx context.Context) error {
	who, _ := framed.PeerFrom(ctx)
	if s.maySeeSecrets(who) {
		return nil
	}
	return fault.New(stoav1.ErrorKind_ERROR_KIND_SECRET, "rpc: secret: identities are not for this user (stoa serve --secret-peers)",
		fault.FieldColumn, "Group")
}
