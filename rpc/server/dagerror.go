package server

import (
	"errors"
	"strings"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// aboutContext returns err with the context that it is about, where it is one
// of package dag that does not say so itself.
func aboutContext(err error, id codec.ContextID) error {
	for _, known := range []struct {
		is   error
		kind stoav1.ErrorKind
		text string
	}{
		{dag.ErrNoContext, stoav1.ErrorKind_ERROR_KIND_NO_CONTEXT, "dag: no context " + id.String()},
		{dag.ErrExists, stoav1.ErrorKind_ERROR_KIND_CONTEXT_EXISTS, "dag: context " + id.String() + " is there already"},
	} {
		if errors.Is(err, known.is) {
			return fault.New(known.kind, known.text, fault.FieldContext, id.String())
		}
	}
	var row *dag.RowError
	if errors.As(err, &row) {
		return fault.DescribeRow(row.Err, row.Column, row.Key)
	}
	var owned *dag.Governed
	if errors.As(err, &owned) {
		return fault.OfKey(stoav1.ErrorKind_ERROR_KIND_OWNED, column.Config, owned.Context[:], "rpc: owned: "+strings.TrimPrefix(owned.Error(), "dag: "),
			fault.FieldOwner, stoav1.Namespace_ServiceDesc.ServiceName, fault.FieldGroup, owned.Group.String())
	}
	if errors.Is(err, dag.ErrSnapshotsBusy) {
		return fault.New(stoav1.ErrorKind_ERROR_KIND_BUSY, "rpc: busy: "+err.Error(), fault.FieldWhat, "snapshots of contexts")
	}
	if errors.Is(err, dag.ErrCursor) {
		return badField("cursor", err.Error())
	}
	return err
}

// aboutAContext are arguments that name one.
type aboutAContext interface{ AboutContext() codec.ContextID }
