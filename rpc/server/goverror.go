package server

import (
	"github.com/stoadb/stoa/rpc/internal/fault"
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
