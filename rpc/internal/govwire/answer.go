package govwire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// What is asked for, and what becomes of ops.
var (
	_ = op.Tags[namespace.Create]("AppKey", ",optional", "TargetApplicationID", ",optional", "Alias", "name")
	_ = op.Tags[namespace.Answer]("Namespace", "namespace_id,optional", "ID", "op_id,optional", "Verdict", ",optional",
		"Cascade", ",optional", "Changed", ",optional")
	_ = op.Tags[namespace.Refusal]("Op", "op_id,optional")
	_ = op.Tags[namespace.Proposed]("Wire", "ops", "Keys", "-") // the keys stay where they are
	_ = op.Tags[namespace.Reissued]("Old", "op_id", "New", "proposed,optional", "Err", "failed")
	_ = op.Pair(fromFailure, op.Always(failure))
	_ = op.Tags[group.Equivocation]("*", ",hash")
	_ = op.Pair(nextEquivocation, afterEquivocation)
)

// Answers carries answers to ops, outside of operations.
var Answers = op.NewFields[stoav1.GovAnswer, namespace.Answer]()

// fromFailure returns why something has failed, for people; "" for nil.
func fromFailure(err *error) string {
	if *err == nil {
		return ""
	}
	return (*err).Error()
}

func failure(s string) error {
	if s == "" {
		return nil
	}
	return errors.New(s)
}

// nextEquivocation returns where the page after e begins; nil for the first page.
func nextEquivocation(e *group.Equivocation) []byte {
	if e.Signer.IsZero() {
		return nil
	}
	return binary.BigEndian.AppendUint64(op.Bytes(e.Signer), e.Nonce)
}

// afterEquivocation returns what nextEquivocation has written.
func afterEquivocation(field string, b []byte) (e group.Equivocation, err error) {
	const size = len(codec.Identity{}) + 8
	switch len(b) {
	case 0:
	case size:
		e.Signer, e.Nonce = codec.Identity(b[:size-8]), binary.BigEndian.Uint64(b[size-8:])
	default:
		err = &op.FieldError{Field: field, Reason: fmt.Sprintf("%d bytes instead of %d", len(b), size)}
	}
	return e, err
}

// What is read of namespaces and groups.
var (
	_ = op.Tags[namespace.Info]("ID", "namespace_id", "Identity", "identity,optional")
	_ = op.Tags[namespace.TreeGroup]("ID", "group_id", "Parent", "parent_id,optional")
	_ = op.Tags[namespace.PendingOp]("ID", "op_id", "Signer", "signer,optional", "Since", "since_ms")
	_ = op.Tags[namespace.Sent]("ID", "op_id", "Wire", "op")
	_ = op.Tags[namespace.Finding]("What", "detail", "By", "by,optional")
	_ = op.Tags[namespace.GroupInfo]("ID", "group_id", "Namespace", "namespace_id", "Parent", "parent_id,optional",
		"Meta", ",inline", "Defaults", "default_capabilities")
	_ = op.Tags[codec.GroupMetaValue]("*", ",hash")
	_ = op.Tags[codec.GroupUpgradeValue]("InitiatedBy", ",hash", "Status", ",inline")
	_ = op.Tags[codec.GroupUpgradeStatus]("Phase", "done")
	_ = op.Tags[namespace.ContextInfo]("ID", "context_id", "Members", "members,optional")
	_ = op.Tags[namespace.ContextMember]("Identity", "identity,optional")
	_ = op.Tags[namespace.KeyInfo]("ID", "key_id,hash", "Op", "op_id,hash")
	_ = op.Tags[namespace.Name]("ID", "id,hash", "In", "group_id,optional")
)
