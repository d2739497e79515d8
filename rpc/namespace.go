package rpc

import (
	"context"
	"fmt"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"

	"github.com/stoadb/stoa/rpc/internal/govwire"
)

// Namespaces is the governance of a daemon. Its methods are those of namespace.Store,
// with the same errors, and those of calls: ErrUnavailable, ErrBusy and their like. It
// is a view of its client, and as safe for concurrent use. Identities and ops on their way
// in are in this file, what is read of them in namespaceread.go, invitations in
// invitation.go; what is read of one group is in [Groups].
type Namespaces struct{ c *Client }

// Namespaces returns the governance of the daemon.
func (c *Client) Namespaces() *Namespaces { return &Namespaces{c} }

// inNamespace are arguments about a namespace.
type inNamespace struct{ NamespaceID codec.GroupID }

// About returns the namespace.
func (a *inNamespace) About() (name, value string) {
	return fault.FieldNamespace, a.NamespaceID.String()
}

var nsNewIdentity = op.New(op.Method{Number: 301, Name: "Namespace.NewIdentity", Role: access.Signer},
	func(_ context.Context, s *namespace.Store, a *inNamespace) (codec.Identity, error) {
		return s.NewIdentity(a.NamespaceID)
	})

// NewIdentity makes the identity of the daemon in a namespace, which it has to be
// before it joins; see [namespace.Store.NewIdentity].
func (n *Namespaces) NewIdentity(ctx context.Context, ns codec.GroupID) (codec.Identity, error) {
	return call(ctx, n.c, nsNewIdentity, inNamespace{ns})
}

var nsIdentity = op.New(op.Method{Number: 302, Name: "Namespace.GetIdentity", Role: access.Reader},
	func(_ context.Context, s *namespace.Store, a *inNamespace) (codec.Identity, error) {
		return s.Identity(a.NamespaceID)
	})

// Identity returns who the daemon is in a namespace, or [namespace.ErrNoIdentity]; see
// [namespace.Store.Identity].
func (n *Namespaces) Identity(ctx context.Context, ns codec.GroupID) (codec.Identity, error) {
	return call(ctx, n.c, nsIdentity, inNamespace{ns})
}

// sealing are the arguments of ExportIdentity.
type sealing struct {
	inNamespace
	Passphrase []byte
}

var nsExport = op.New(op.Method{Number: 303, Name: "Namespace.ExportIdentity", Role: access.Secrets},
	func(_ context.Context, s *namespace.Store, a *sealing) (sealed []byte, err error) {
		return s.ExportSealed(a.NamespaceID, a.Passphrase)
	})

// ExportIdentity returns the identity of the daemon in a namespace sealed under a
// passphrase. It returns namespace.ErrNoIdentity, and ErrSecret if this user may not
// read secrets.
func (n *Namespaces) ExportIdentity(ctx context.Context, ns codec.GroupID, passphrase []byte) ([]byte, error) {
	return call(ctx, n.c, nsExport, sealing{inNamespace{ns}, passphrase})
}

// opening are the arguments of ImportIdentity.
type opening struct {
	sealing
	Sealed []byte
}

var nsImport = op.New(op.Method{Number: 304, Name: "Namespace.ImportIdentity", Role: access.Secrets},
	func(_ context.Context, s *namespace.Store, a *opening) (codec.Identity, error) {
		return s.ImportSealed(a.NamespaceID, a.Sealed, a.Passphrase)
	})

// ImportIdentity makes what ExportIdentity has returned the identity of the daemon in a
// namespace. It returns namespace.ErrExport, namespace.ErrIdentityExists, and ErrSecret
// if this user may not read secrets.
func (n *Namespaces) ImportIdentity(ctx context.Context, ns codec.GroupID, sealed, passphrase []byte) (codec.Identity, error) {
	return call(ctx, n.c, nsImport, opening{sealing{inNamespace{ns}, passphrase}, sealed})
}

// creating are the arguments of Create.
type creating struct {
	namespace.Create
	made codec.GroupID
}

// About returns the namespace that was to be made.
func (a *creating) About() (name, value string) { return fault.FieldNamespace, a.made.String() }

// created is a namespace that was made.
type created struct {
	NamespaceID codec.GroupID
	Proposed    namespace.Proposed
}

var nsCreate = op.New(op.Method{Number: 305, Name: "Namespace.Create", Role: access.Signer},
	func(ctx context.Context, s *namespace.Store, a *creating) (r created, err error) {
		r.NamespaceID, r.Proposed, err = s.Create(ctx, a.Create)
		a.made = r.NamespaceID
		return r, err
	})

// Create makes a namespace, of which the daemon is the admin identity, by an identity
// that is made for it; see [namespace.Store.Create]. After ErrUnavailable or the end
// of ctx the namespace may or may not have been made.
func (n *Namespaces) Create(ctx context.Context, c namespace.Create) (codec.GroupID, namespace.Proposed, error) {
	r, err := call(ctx, n.c, nsCreate, creating{Create: c})
	return r.NamespaceID, r.Proposed, err
}

// proposing are the arguments of Propose: one of what may be proposed.
type proposing struct {
	inNamespace
	Root  *codec.RootOp
	Group *groupProposal
}

// groupProposal is an op of a group that is proposed.
type groupProposal struct {
	GroupID codec.GroupID
	Op      codec.GroupOp
}

// proposed is what was made.
type proposed struct {
	Proposed namespace.Proposed
	GroupID  codec.GroupID `wire:",optional"` // that is created
}

var nsPropose = op.New(op.Method{Number: 306, Name: "Namespace.Propose", Role: access.Signer},
	func(ctx context.Context, s *namespace.Store, a *proposing) (r proposed, err error) {
		what := namespace.Proposal{Root: a.Root}
		switch {
		case a.Group != nil:
			what.GroupID, what.Group = a.Group.GroupID, &a.Group.Op
		case a.Root == nil:
			return r, &op.FieldError{Field: "proposal", Reason: "none"}
		case a.Root.Kind == codec.RootNamespaceCreated || a.Root.Kind == codec.RootMemberJoined || a.Root.Kind == codec.RootKeyDelivery || a.Root.Kind == codec.RootAuthorityStated:
			return r, &op.FieldError{Field: "root.kind", Reason: a.Root.Kind.String() + " is not proposed so"}
		case a.Root.Kind == codec.RootGroupCreated:
			a.Root.CreatedAt = 0 // the daemon's clock says it
		}
		if r.Proposed, err = s.Propose(ctx, a.NamespaceID, what); err == nil && a.Root != nil && a.Root.Kind == codec.RootGroupCreated {
			r.GroupID, err = groupCreated(r.Proposed.Wire)
		}
		return r, err
	})

// groupCreated returns the group that ops create.
func groupCreated(ops [][]byte) (codec.GroupID, error) {
	for _, b := range ops {
		op, err := codec.SignedNamespaceOp{}.Decode(b)
		if err != nil {
			return codec.GroupID{}, err
		}
		if op.Op.Kind == codec.NamespaceRoot && op.Op.Root.Kind == codec.RootGroupCreated {
			return op.Op.Root.GroupID, nil
		}
	}
	return codec.GroupID{}, fmt.Errorf("rpc: %d ops create no group", len(ops))
}

// Propose makes an op on top of all that is there, signed by the daemon, and the
// rotation or delivery of keys that must go with it; see [namespace.Store.Propose]. It
// returns the group that the op creates, too; zeros for others. After ErrUnavailable
// or the end of ctx the op may or may not have been made: read the heads before
// proposing again. Only kinds of root ops that the service takes may be proposed, see
// Admit and Create.
func (n *Namespaces) Propose(ctx context.Context, ns codec.GroupID, what namespace.Proposal) (namespace.Proposed, codec.GroupID, error) {
	a := proposing{inNamespace: inNamespace{ns}, Root: what.Root}
	if what.Root == nil && what.Group != nil {
		a.Group = &groupProposal{what.GroupID, *what.Group}
	}
	r, err := call(ctx, n.c, nsPropose, a)
	return r.Proposed, r.GroupID, err
}

var nsFollow = op.New(op.Method{Number: 324, Name: "Namespace.Follow", Role: access.Writer},
	func(_ context.Context, s *namespace.Store, a *inNamespace) (struct{}, error) {
		return struct{}{}, s.FollowNamespace(a.NamespaceID)
	})

// FollowNamespace has the daemon take ops of a namespace in which it has neither an
// identity nor ops; see [namespace.Store.FollowNamespace].
func (n *Namespaces) FollowNamespace(ctx context.Context, ns codec.GroupID) error {
	_, err := call(ctx, n.c, nsFollow, inNamespace{ns})
	return err
}

var nsResume = op.New(op.Method{Number: 326, Name: "Namespace.Resume", Role: access.Signer},
	func(ctx context.Context, s *namespace.Store, a *inNamespace) (struct{}, error) {
		return struct{}{}, s.Resume(ctx, a.NamespaceID)
	})

// Resume has the daemon, whose store was restored from a copy, sign again in a namespace; see
// [namespace.Store.Resume].
func (n *Namespaces) Resume(ctx context.Context, ns codec.GroupID) error {
	_, err := call(ctx, n.c, nsResume, inNamespace{ns})
	return err
}

// upgraded is what Upgrade has made.
type upgraded struct {
	Proposed namespace.Proposed
	GroupIDs []codec.GroupID
}

var nsUpgrade = op.New(op.Method{Number: 325, Name: "Namespace.Upgrade", Role: access.Signer},
	func(ctx context.Context, s *namespace.Store, a *inNamespace) (r upgraded, err error) {
		r.Proposed, r.GroupIDs, err = s.Upgrade(ctx, a.NamespaceID)
		return r, err
	})

// Upgrade has a namespace of version 1 go on in version 2, and returns the groups that the
// daemon has stated; see [namespace.Store.Upgrade].
func (n *Namespaces) Upgrade(ctx context.Context, ns codec.GroupID) (namespace.Proposed, []codec.GroupID, error) {
	r, err := call(ctx, n.c, nsUpgrade, inNamespace{ns})
	return r.Proposed, r.GroupIDs, err
}

// applying are the arguments of Apply.
type applying struct {
	Op []byte
	to codec.GroupID
}

// About returns the namespace that the op is of.
func (a *applying) About() (name, value string) { return fault.FieldNamespace, a.to.String() }

var nsApply = op.New(op.Method{Number: 307, Name: "Namespace.Apply", Role: access.Writer},
	func(ctx context.Context, s *namespace.Store, a *applying) (namespace.Answer, error) {
		answer, err := s.Apply(ctx, a.Op)
		a.to = answer.Namespace
		return answer, err
	})

// Apply takes in an op, as it travels, and with it those that have waited for it; see
// [namespace.Store.Apply]. After ErrUnavailable or the end of ctx it may or may not
// have been taken; offering it again is harmless.
func (n *Namespaces) Apply(ctx context.Context, op []byte) (namespace.Answer, error) {
	return call(ctx, n.c, nsApply, applying{Op: op})
}

var nsApplyMany = op.ByHand(op.Method{Number: 308, Name: "Namespace.ApplyMany", Role: access.Writer})

// ApplyMany offers ops over one stream, and yields the answers in their order, until
// the first error. How far the daemon is behind is bounded. ops is drawn from on a
// goroutine of its own, which ends no later than the next op after the answers have
// ended.
func (n *Namespaces) ApplyMany(ctx context.Context, ops iter.Seq[[]byte]) iter.Seq2[namespace.Answer, error] {
	return offer(ctx, n.c, nsApplyMany.Name, n.c.namespace.ApplyMany, ops,
		func(op []byte) *stoav1.NamespaceApplyManyRequest { return &stoav1.NamespaceApplyManyRequest{Op: op} },
		func(m *stoav1.NamespaceApplyManyResponse) (namespace.Answer, error) {
			return govwire.Answers.Value(m.GetAnswer())
		})
}
