package rpc

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/internal/govwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Namespaces is the governance of a daemon. Its methods are those of namespace.Store,
// with the same errors, and those of calls: ErrUnavailable, ErrBusy and their like. It
// is a view of its client, and as safe for concurrent use. What is read of one group is
// in [Groups].
type Namespaces struct{ c *Client }

// Namespaces returns the governance of the daemon. Calls that take no context end with
// that of c; streams end with both.
func (c *Client) Namespaces() *Namespaces { return &Namespaces{c} }

// until returns the client for calls that end with ctx too.
func (n *Namespaces) until(ctx context.Context) (*Client, context.CancelFunc) {
	ctx, cancel := n.c.within(ctx)
	return n.c.WithContext(ctx), cancel
}

// NewIdentity is namespace.Store's.
func (n *Namespaces) NewIdentity(ns codec.GroupID) (codec.Identity, error) {
	res, err := dagCall(n.c, "new identity", n.c.namespace.NewIdentity, &stoav1.NamespaceNewIdentityRequest{NamespaceId: ns[:]})
	if err != nil {
		return codec.Identity{}, err
	}
	id, err := op.ParseID[codec.Identity]("identity", res.GetIdentity())
	return id, odd("new identity", err)
}

// Identity is namespace.Store's.
func (n *Namespaces) Identity(ns codec.GroupID) (codec.Identity, error) {
	res, err := dagCall(n.c, "identity", n.c.namespace.GetIdentity, &stoav1.NamespaceGetIdentityRequest{NamespaceId: ns[:]})
	if err != nil {
		return codec.Identity{}, err
	}
	id, err := op.ParseID[codec.Identity]("identity", res.GetIdentity())
	return id, odd("identity", err)
}

// ExportIdentity returns the identity of the daemon in a namespace sealed under a
// passphrase. It returns namespace.ErrNoIdentity, and ErrSecret if this user may not
// read secrets.
func (n *Namespaces) ExportIdentity(ns codec.GroupID, passphrase []byte) ([]byte, error) {
	res, err := dagCall(n.c, "export identity", n.c.namespace.ExportIdentity,
		&stoav1.NamespaceExportIdentityRequest{NamespaceId: ns[:], Passphrase: passphrase})
	return res.GetSealed(), err
}

// ImportIdentity makes what ExportIdentity has returned the identity of the daemon in a
// namespace. It returns namespace.ErrExport, namespace.ErrIdentityExists, and ErrSecret
// if this user may not read secrets.
func (n *Namespaces) ImportIdentity(ns codec.GroupID, sealed, passphrase []byte) (codec.Identity, error) {
	res, err := dagCall(n.c, "import identity", n.c.namespace.ImportIdentity,
		&stoav1.NamespaceImportIdentityRequest{NamespaceId: ns[:], Sealed: sealed, Passphrase: passphrase})
	if err != nil {
		return codec.Identity{}, err
	}
	id, err := op.ParseID[codec.Identity]("identity", res.GetIdentity())
	return id, odd("import identity", err)
}

// Create is namespace.Store's. After ErrUnavailable or the end of ctx the namespace may
// or may not have been made.
func (n *Namespaces) Create(ctx context.Context, c namespace.Create) (codec.GroupID, namespace.Proposed, error) {
	client, cancel := n.until(ctx)
	defer cancel()
	res, err := dagCall(client, "create namespace", n.c.namespace.Create, &stoav1.NamespaceCreateRequest{
		AppKey: op.OptionalBytes(c.AppKey), TargetApplicationId: op.OptionalBytes(c.TargetApplicationID),
		UpgradePolicy: govwire.FromPolicy(c.UpgradePolicy), Name: string(c.Alias.V),
	})
	if err != nil {
		return codec.GroupID{}, namespace.Proposed{}, err
	}
	ns, err := op.ParseID[codec.GroupID]("namespace_id", res.GetNamespaceId())
	if err != nil {
		return ns, namespace.Proposed{}, odd("create namespace", err)
	}
	done, err := govwire.Proposed(res.GetProposed())
	return ns, done, odd("create namespace", err)
}

// Propose is namespace.Store's, and returns the group that the op creates, too; zeros
// for others. After ErrUnavailable or the end of ctx the op may or may not have been
// made: read the heads before proposing again. Only kinds of root ops that the service
// takes may be proposed, see Admit and Create.
func (n *Namespaces) Propose(ctx context.Context, ns codec.GroupID, what namespace.Proposal) (namespace.Proposed, codec.GroupID, error) {
	ask := &stoav1.NamespaceProposeRequest{NamespaceId: ns[:]}
	switch {
	case what.Root != nil:
		root, err := govwire.FromRootOp(what.Root)
		if err != nil {
			return namespace.Proposed{}, codec.GroupID{}, err
		}
		ask.Proposal = &stoav1.NamespaceProposeRequest_Root{Root: root}
	case what.Group != nil:
		ask.Proposal = &stoav1.NamespaceProposeRequest_Group{Group: &stoav1.NamespaceGroupProposal{
			GroupId: what.GroupID[:], Op: govwire.FromGroupOp(what.Group)}}
	}
	client, cancel := n.until(ctx)
	defer cancel()
	res, err := dagCall(client, "propose", n.c.namespace.Propose, ask)
	if err != nil {
		return namespace.Proposed{}, codec.GroupID{}, err
	}
	g, err := op.ParseOptional[codec.GroupID]("group_id", res.GetGroupId())
	if err != nil {
		return namespace.Proposed{}, g, odd("propose", err)
	}
	done, err := govwire.Proposed(res.GetProposed())
	return done, g, odd("propose", err)
}

// Apply is namespace.Store's. After ErrUnavailable or the end of ctx it may or may not
// have been taken; offering it again is harmless.
func (n *Namespaces) Apply(ctx context.Context, op []byte) (namespace.Answer, error) {
	client, cancel := n.until(ctx)
	defer cancel()
	res, err := dagCall(client, "apply op", n.c.namespace.Apply, &stoav1.NamespaceApplyRequest{Op: op})
	if err != nil {
		return namespace.Answer{}, err
	}
	a, err := govwire.Answer(res.GetAnswer())
	return a, odd("apply op", err)
}

// ApplyMany offers ops over one stream, and yields the answers in their order, until
// the first error. How far the daemon is behind is bounded. ops is drawn from on a
// goroutine of its own, which ends no later than the next op after the answers have
// ended.
func (n *Namespaces) ApplyMany(ctx context.Context, ops iter.Seq[[]byte]) iter.Seq2[namespace.Answer, error] {
	return offer(ctx, n.c, "apply ops", n.c.namespace.ApplyMany, ops,
		func(op []byte) *stoav1.NamespaceApplyManyRequest { return &stoav1.NamespaceApplyManyRequest{Op: op} },
		func(m *stoav1.NamespaceApplyManyResponse) (namespace.Answer, error) {
			return govwire.Answer(m.GetAnswer())
		})
}
