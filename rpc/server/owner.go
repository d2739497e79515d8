package server

import (
	"bytes"
	"fmt"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// What the scopes of the services Dag, of Namespace and Group, and of Kv, Record and Policy begin with.
const (
	dagScopes = "dag-"
	govScopes = "gov-"
	kvScopes  = "\x00"
)

// owner returns the service that alone writes the row under key, or a range of
// rows that starts there; empty if there is none.
func (s *Server) owner(col column.Column, key []byte) string {
	if col == column.Blobs {
		return stoav1.Blob_ServiceDesc.ServiceName
	}
	if s.o.Dag != nil && (col == column.Meta || col == column.Delta || col == column.State || inScopes(col, key, dagScopes)) {
		return stoav1.Dag_ServiceDesc.ServiceName
	}
	if s.o.Namespaces != nil && (col == column.Group || col == column.Config || inScopes(col, key, govScopes)) {
		return stoav1.Namespace_ServiceDesc.ServiceName
	}
	if (s.o.KV != nil || s.o.Records != nil || s.o.Locks != nil) && inScopes(col, key, kvScopes) {
		return stoav1.Kv_ServiceDesc.ServiceName
	}
	return ""
}

func inScopes(col column.Column, key []byte, scopes string) bool {
	return col == column.Generic && bytes.HasPrefix(key, []byte(scopes))
}

// checkOwner refuses a change of rows that a service keeps: what it knows of
// them, such as the root of a state or the content of a blob, would not be true any more.
func (s *Server) checkOwner(op engine.Op, who demux.Peer) *fault.Error {
	owner := s.owner(op.Column, op.Key)
	if owner == "" || s.o.Raw && who.Rights.Runs() {
		return nil
	}
	return fault.OfKey(stoav1.ErrorKind_ERROR_KIND_OWNED, op.Column, op.Key,
		fmt.Sprintf("rpc: owned: %s writes these rows of %s, and nobody else (stoa serve --raw, for repair)", owner, op.Column),
		fault.FieldOwner, owner)
}
