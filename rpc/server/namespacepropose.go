package server

import (
	"context"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/internal/govwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Propose is Namespace.Propose.
func (t *namespaceService) Propose(ctx context.Context, r *stoav1.NamespaceProposeRequest) (*stoav1.NamespaceProposeResponse, error) {
	ns, err := namespaceID(r)
	if err != nil {
		return nil, err
	}
	what, err := t.proposal(r)
	if err != nil {
		return nil, field(err)
	}
	done, err := t.store().Propose(ctx, ns, what)
	if err != nil {
		return nil, aboutNamespace(err, ns)
	}
	res := &stoav1.NamespaceProposeResponse{Proposed: govwire.FromProposed(&done)}
	if what.Root != nil && what.Root.Kind == codec.RootGroupCreated {
		g, err := created(done.Wire)
		if err != nil {
			return nil, err
		}
		res.GroupId = op.Bytes(g)
	}
	return res, nil
}

func (t *namespaceService) proposal(r *stoav1.NamespaceProposeRequest) (what namespace.Proposal, err error) {
	switch p := r.GetProposal().(type) {
	case *stoav1.NamespaceProposeRequest_Root:
		root, err := govwire.RootOp("root", p.Root)
		if err != nil {
			return what, err
		}
		switch root.Kind {
		case codec.RootNamespaceCreated, codec.RootMemberJoined, codec.RootKeyDelivery:
			return what, badField("root.kind", root.Kind.String()+" is not proposed so")
		case codec.RootGroupCreated:
			root.CreatedAt = uint64(t.s.o.Now().Unix())
		}
		what.Root = &root
		return what, nil
	case *stoav1.NamespaceProposeRequest_Group:
		g, err := op.ParseID[codec.GroupID]("group.group_id", p.Group.GetGroupId())
		if err != nil {
			return what, err
		}
		op, err := govwire.GroupOp("group.op", p.Group.GetOp())
		what.GroupID, what.Group = g, &op
		return what, err
	}
	return what, badField("proposal", "none")
}

// created returns the group that ops create.
func created(ops [][]byte) (codec.GroupID, error) {
	for _, b := range ops {
		op, err := codec.SignedNamespaceOp{}.Decode(b)
		if err != nil {
			return codec.GroupID{}, err
		}
		if op.Op.Kind == codec.NamespaceRoot && op.Op.Root.Kind == codec.RootGroupCreated {
			return op.Op.Root.GroupID, nil
		}
	}
	return codec.GroupID{}, fmt.Errorf("server: %d ops create no group", len(ops))
}
