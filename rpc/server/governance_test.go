package server

import (
	"context"
	"crypto/rand"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Both ends of a sync may be elsewhere.
var _ namespace.Peer = (*rpc.Namespaces)(nil)

// govDaemon is a daemon under test that governs.
type govDaemon struct {
	*testDaemon
	*rpc.Namespaces
	groups *rpc.Groups
}

func startGov(t testing.TB, framing rpc.Framing, o Options) *govDaemon {
	t.Helper()
	eng := mem.New()
	store, err := namespace.Open(eng, namespace.Options{})
	require.NoError(t, err)
	o.Namespaces = store
	d := &govDaemon{testDaemon: start(t, eng, o)}
	t.Cleanup(func() { // before the engine is closed
		d.stop()
		require.NoError(t, store.Close())
	})
	c, err := rpc.Dial(t.Context(), d.path, rpc.WithFraming(framing))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	d.Namespaces, d.groups = c.Namespaces(), c.Groups()
	return d
}

// founded is startGov with a namespace.
func founded(t testing.TB, framing rpc.Framing, o Options) (*govDaemon, codec.GroupID) {
	t.Helper()
	d := startGov(t, framing, o)
	ns, done, err := d.Create(context.Background(), namespace.Create{Alias: codec.Some(codec.AliasName("home"))})
	require.NoError(t, err)
	require.Equal(t, namespace.Stored, done.Answer.Kind)
	return d, ns
}

func (d *govDaemon) propose(t testing.TB, ns codec.GroupID, op codec.GroupOp) namespace.Proposed {
	t.Helper()
	done, _, err := d.Propose(context.Background(), ns, namespace.Proposal{GroupID: ns, Group: &op})
	require.NoError(t, err)
	return done
}

// joined has b join the namespace of a, as a member.
func joined(t testing.TB, a, b *govDaemon, ns codec.GroupID) codec.Identity {
	t.Helper()
	ctx := context.Background()
	invitation, err := a.Invite(ctx, namespace.Invite{GroupID: ns, Role: codec.Member, Expires: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	j, err := b.Join(ctx, invitation)
	require.NoError(t, err)
	require.Equal(t, ns, j.Namespace)
	_, err = a.Admit(ctx, j.Request)
	require.NoError(t, err)
	_, err = namespace.Sync(ctx, ns, a, b)
	require.NoError(t, err)
	return j.Identity
}

func everyFraming(t *testing.T, run func(*testing.T, rpc.Framing)) {
	for name, f := range map[string]rpc.Framing{"grpc": rpc.FramingGRPC, "frames": rpc.FramingFrames} {
		t.Run(name, func(t *testing.T) { run(t, f) })
	}
}

func TestTwoDaemonsGovernANamespaceOverTheirSockets(t *testing.T) {
	everyFraming(t, func(t *testing.T, f rpc.Framing) {
		a, ns := founded(t, f, Options{})
		b := startGov(t, f, Options{})
		second := joined(t, a, b, ns)
		self, err := a.Identity(t.Context(), ns)
		require.NoError(t, err)

		room := codec.ContextID{1}
		a.propose(t, ns, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: room})
		a.propose(t, ns, codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: second, Name: codec.Some(codec.AliasName("bob"))})
		b.propose(t, ns, codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: second, Name: codec.Some(codec.AliasName("rob"))})
		_, below, err := a.Propose(t.Context(), ns, namespace.Proposal{Root: &codec.RootOp{Kind: codec.RootGroupCreated, ParentID: ns}})
		require.NoError(t, err)
		r, err := namespace.Sync(t.Context(), ns, a, b)
		require.NoError(t, err)
		require.Equal(t, []int{1, 3}, []int{r.ToA.Stored, r.ToB.Stored})

		for _, d := range []*govDaemon{a, b} {
			info, err := d.Namespace(t.Context(), ns)
			require.NoError(t, err)
			require.Equal(t, []any{codec.AliasName("home"), 2, r.Heads}, []any{info.Name, info.Groups, info.Heads})
			tree, err := d.Tree(t.Context(), ns)
			require.NoError(t, err)
			require.Equal(t, below, tree[1].ID)
			members, err := listed(d.groups.Members(t.Context(), ns))
			require.NoError(t, err)
			require.Len(t, members, 2)
			contexts, err := listed(d.groups.Contexts(t.Context(), ns))
			require.NoError(t, err)
			require.Equal(t, room, contexts[0].ID)
			g, err := d.groups.Show(t.Context(), ns)
			require.NoError(t, err)
			require.Equal(t, self, g.Meta.AdminIdentity)
			of, root, err := d.groups.Resolve(t.Context(), room)
			require.NoError(t, err)
			require.Equal(t, []codec.GroupID{ns, ns}, []codec.GroupID{of, root})
			root, err = d.groups.NamespaceOf(t.Context(), below)
			require.NoError(t, err)
			require.Equal(t, ns, root)
			report, err := d.Verify(t.Context(), ns)
			require.NoError(t, err)
			require.Equal(t, rpc.GovReport{Ops: info.Ops}, report)
			op, err := d.Op(t.Context(), ns, r.Heads[0])
			require.NoError(t, err)
			require.NotEmpty(t, op.Wire)
			ks, err := d.groups.Keys(t.Context(), ns)
			require.NoError(t, err)
			require.True(t, ks[len(ks)-1].Current && ks[len(ks)-1].Here)
			require.Len(t, ks[len(ks)-1].Holders, 2)
			page, err := listed(d.List(t.Context()))
			require.NoError(t, err)
			require.Equal(t, []namespace.Info{info}, page)
		}
		require.Equal(t, logOf(t, a, ns, namespace.Window{}), reversed(logOf(t, a, ns, namespace.Window{Reverse: true})))
		require.Len(t, logOf(t, b, ns, namespace.Window{From: 2, Limit: 1}), 1)
	})
}

func logOf(t *testing.T, d *govDaemon, g codec.GroupID, w namespace.Window) (all []namespace.Entry) {
	t.Helper()
	for e, err := range d.groups.Ops(t.Context(), g, w) {
		require.NoError(t, err)
		all = append(all, e)
	}
	return all
}

func reversed(all []namespace.Entry) []namespace.Entry {
	all = slices.Clone(all)
	slices.Reverse(all)
	return all
}

func TestAnswersToOpsAreTypedOverTheSocket(t *testing.T) {
	everyFraming(t, func(t *testing.T, f rpc.Framing) {
		a, ns := founded(t, f, Options{})
		b := startGov(t, f, Options{})
		var wires [][]byte
		for sent, err := range a.OpsSince(t.Context(), ns, nil, 0) {
			require.NoError(t, err)
			wires = append(wires, sent.Wire)
		}
		require.Len(t, wires, 3, "the creation, a key, and the name under it")
		answer, err := b.Apply(t.Context(), wires[0])
		require.NoError(t, err)
		require.Equal(t, namespace.Refused, answer.Kind)
		require.Equal(t, namespace.NotFollowed, answer.Refusal.Reason)
		require.Contains(t, answer.Refusal.Detail, "stoa namespace follow "+ns.String())
		for answer, err := range b.ApplyMany(t.Context(), slices.Values(wires)) {
			require.NoError(t, err)
			require.Equal(t, namespace.NotFollowed, answer.Refusal.Reason)
		}
		_, err = namespace.Sync(t.Context(), ns, a, b)
		require.ErrorIs(t, err, namespace.ErrUneven)
		require.ErrorContains(t, err, "not followed: ")
		_, err = b.Namespace(t.Context(), ns)
		require.ErrorIs(t, err, namespace.ErrNoNamespace)
		require.NoError(t, b.FollowNamespace(t.Context(), ns))
		followed, err := b.Namespace(t.Context(), ns)
		require.NoError(t, err)
		require.Equal(t, namespace.Info{ID: ns}, followed)
		require.Error(t, b.FollowNamespace(t.Context(), codec.GroupID{}))

		answer, err = b.Apply(t.Context(), wires[1])
		require.NoError(t, err)
		require.Equal(t, namespace.Pending, answer.Kind)
		require.Len(t, answer.Missing, 1)
		missing, err := listed(b.Missing(t.Context(), ns))
		require.NoError(t, err)
		require.Equal(t, answer.Missing, missing)
		waiting, bytes, err := b.Waiting(t.Context(), ns)
		require.NoError(t, err)
		require.Equal(t, 1, waiting)
		require.EqualValues(t, len(wires[1]), bytes)

		pending, err := listed(b.PendingOps(t.Context(), ns))
		require.NoError(t, err)
		signer, err := a.Identity(t.Context(), ns)
		require.NoError(t, err)
		require.Len(t, pending, 1)
		require.WithinDuration(t, time.Now(), pending[0].Since, time.Minute)
		require.Equal(t, []namespace.PendingOp{{ID: answer.ID, Signer: signer, Bytes: len(wires[1]), Since: pending[0].Since, Missing: answer.Missing}}, pending)
		_, _, err = b.DropPending(t.Context(), codec.GroupID{1}, codec.Identity{})
		require.ErrorIs(t, err, namespace.ErrNoNamespace)
		n, bytes, err := b.DropPending(t.Context(), ns, codec.Identity{1})
		require.NoError(t, err)
		require.Zero(t, n, "those of somebody else")
		require.Zero(t, bytes)
		n, bytes, err = b.DropPending(t.Context(), ns, signer)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.EqualValues(t, len(wires[1]), bytes)
		answer, err = b.Apply(t.Context(), wires[1])
		require.NoError(t, err)
		require.Equal(t, namespace.Pending, answer.Kind, "offered again it waits again")

		damaged := slices.Clone(wires[0])
		damaged[len(damaged)-1] ^= 1
		var kinds []namespace.AnswerKind
		var last namespace.Answer
		for answer, err := range b.ApplyMany(t.Context(), slices.Values([][]byte{{1}, damaged, wires[0], wires[0]})) {
			require.NoError(t, err)
			kinds = append(kinds, answer.Kind)
			if answer.Kind == namespace.Stored {
				last = answer
			}
		}
		require.Equal(t, []namespace.AnswerKind{namespace.Refused, namespace.Refused, namespace.Stored, namespace.Duplicate}, kinds)
		require.Len(t, last.Cascade, 1)
		require.Equal(t, group.Effective, last.Cascade[0].Verdict.Outcome, "the key is clear")
		answer, err = b.Apply(t.Context(), wires[2])
		require.NoError(t, err)
		require.Equal(t, group.Sealed, answer.Verdict.Outcome, "and not here")
		answer, err = b.Apply(t.Context(), damaged)
		require.NoError(t, err)
		require.Equal(t, namespace.BadSignature, answer.Refusal.Reason)
		heads, err := b.Heads(t.Context(), ns)
		require.NoError(t, err)
		strange := func(parents ...codec.OpID) ([]byte, codec.OpID) {
			s := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: ns, Parents: parents, Nonce: 1, Op: codec.NamespaceOp{Root: codec.RootOp{Kind: codec.RootMerge}}}
			require.NoError(t, namespace.Sign(s, codec.Secret{1}))
			op, err := namespace.NewOp(s)
			require.NoError(t, err)
			wire, err := s.AppendBinary(nil)
			require.NoError(t, err)
			return wire, op.ID
		}
		parent, id := strange(heads...)
		child, childID := strange(id)
		answer, err = b.Apply(t.Context(), child)
		require.NoError(t, err)
		require.Equal(t, namespace.Pending, answer.Kind)
		answer, err = b.Apply(t.Context(), parent)
		require.NoError(t, err)
		require.Equal(t, namespace.Stranger, answer.Refusal.Reason)
		require.Equal(t, childID, answer.Cascade[0].ID)
		require.Equal(t, namespace.RefusedAncestor, answer.Cascade[0].Refusal.Reason)
		pairs, err := listed(b.Equivocations(t.Context(), ns))
		require.NoError(t, err)
		require.Empty(t, pairs)
	})
}

func TestFollowersOfAGroupAreToldOfOpsAndVerdicts(t *testing.T) {
	everyFraming(t, func(t *testing.T, f rpc.Framing) {
		a, ns := founded(t, f, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		next, stop := iter.Pull2(a.groups.Follow(ctx, ns, 0, true))
		defer stop()
		e, err, ok := next()
		require.True(t, ok)
		require.NoError(t, err)
		require.Equal(t, codec.OpKeyRotated, e.Entry.Op.Op.Kind)
		e, err, ok = next()
		require.True(t, ok)
		require.NoError(t, err)
		require.Equal(t, codec.OpGroupAliasSet, e.Entry.Op.Op.Kind)
		a.propose(t, ns, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: codec.ContextID{4}})
		e, err, ok = next()
		require.True(t, ok)
		require.NoError(t, err)
		require.Equal(t, []any{uint64(3), codec.ContextID{4}, group.Effective},
			[]any{e.Entry.Seq, e.Entry.Op.Op.ContextID, e.Entry.Verdict.Outcome})
		n := 0
		for _, err := range a.groups.Follow(ctx, ns, 2, false) {
			require.NoError(t, err)
			n++
		}
		require.Equal(t, 1, n)
	})
}

func TestAVoidedOpIsIssuedAgainOverTheSocket(t *testing.T) {
	a, ns := founded(t, rpc.FramingAuto, Options{})
	b := startGov(t, rpc.FramingAuto, Options{})
	second := joined(t, a, b, ns)
	a.propose(t, ns, codec.GroupOp{Kind: codec.OpMemberCapabilitySet, Member: second, Capabilities: codec.ManageContexts})
	_, err := namespace.Sync(t.Context(), ns, a, b)
	require.NoError(t, err)
	made := b.propose(t, ns, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: codec.ContextID{5}})
	a.propose(t, ns, codec.GroupOp{Kind: codec.OpMemberCapabilitySet, Member: second})
	a.propose(t, ns, codec.GroupOp{Kind: codec.OpMemberCapabilitySet, Member: second, Capabilities: codec.ManageContexts})
	_, err = namespace.Sync(t.Context(), ns, a, b)
	require.NoError(t, err)
	voided, err := b.groups.Voided(t.Context(), ns)
	require.NoError(t, err)
	require.Len(t, voided, 1)
	require.Equal(t, made.Answer.ID, voided[0].ID)
	require.Equal(t, codec.ContextID{5}, voided[0].Body.ContextID)
	done, err := b.groups.Reissue(t.Context(), ns)
	require.NoError(t, err)
	require.Len(t, done, 1)
	require.NoError(t, done[0].Err)
	require.Equal(t, group.Effective, done[0].New.Answer.Verdict.Outcome)
	voided, err = b.groups.Voided(t.Context(), ns)
	require.NoError(t, err)
	require.Empty(t, voided)
}

func TestErrorsOfGovernanceHaveKinds(t *testing.T) {
	d, ns := founded(t, rpc.FramingAuto, Options{})
	ctx, none := t.Context(), codec.GroupID{9}
	self, err := d.Identity(ctx, ns)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		call func() error
		is   error
		code codes.Code
		kind stoav1.ErrorKind
	}{
		"namespace": {func() error { _, err := d.Namespace(ctx, none); return err }, namespace.ErrNoNamespace, codes.NotFound, stoav1.ErrorKind_ERROR_KIND_NO_NAMESPACE},
		"propose": {func() error {
			_, _, err := d.Propose(ctx, none, namespace.Proposal{Root: &codec.RootOp{Kind: codec.RootMerge}})
			return err
		}, namespace.ErrNoNamespace, codes.NotFound, stoav1.ErrorKind_ERROR_KIND_NO_NAMESPACE},
		"group":    {func() error { _, err := d.groups.Show(ctx, none); return err }, namespace.ErrNoGroup, codes.NotFound, stoav1.ErrorKind_ERROR_KIND_NO_GROUP},
		"context":  {func() error { _, _, err := d.groups.Resolve(ctx, codec.ContextID{9}); return err }, namespace.ErrNoContext, codes.NotFound, stoav1.ErrorKind_ERROR_KIND_NO_GROUP_CONTEXT},
		"op":       {func() error { _, err := d.Op(ctx, ns, codec.OpID{9}); return err }, namespace.ErrNoOp, codes.NotFound, stoav1.ErrorKind_ERROR_KIND_NO_OP},
		"identity": {func() error { _, err := d.Identity(ctx, none); return err }, namespace.ErrNoIdentity, codes.FailedPrecondition, stoav1.ErrorKind_ERROR_KIND_NO_IDENTITY},
		"again":    {func() error { _, err := d.NewIdentity(ctx, ns); return err }, namespace.ErrIdentityExists, codes.AlreadyExists, stoav1.ErrorKind_ERROR_KIND_IDENTITY_EXISTS},
		"zeros":    {func() error { _, err := d.NewIdentity(ctx, codec.GroupID{}); return err }, rpc.ErrRequest, codes.InvalidArgument, stoav1.ErrorKind_ERROR_KIND_REQUEST},
		"export":   {func() error { _, err := d.ImportIdentity(ctx, none, []byte{1}, []byte("p")); return err }, namespace.ErrExport, codes.InvalidArgument, stoav1.ErrorKind_ERROR_KIND_IDENTITY},
		"effect": {func() error {
			_, _, err := d.Propose(ctx, ns, namespace.Proposal{GroupID: ns, Group: &codec.GroupOp{Kind: codec.OpMemberRemoved, Member: self}})
			return err
		}, namespace.ErrNotEffective, codes.FailedPrecondition, stoav1.ErrorKind_ERROR_KIND_NOT_EFFECTIVE},
		"form": {func() error {
			_, _, err := d.Propose(ctx, ns, namespace.Proposal{GroupID: ns, Group: &codec.GroupOp{Kind: codec.OpGroupAliasSet, Method: "x"}})
			return err
		}, codec.ErrMalformed, codes.InvalidArgument, stoav1.ErrorKind_ERROR_KIND_VALUE},
		"kind": {func() error {
			_, _, err := d.Propose(ctx, ns, namespace.Proposal{Root: &codec.RootOp{Kind: codec.RootKeyDelivery}})
			return err
		}, rpc.ErrRequest, codes.InvalidArgument, stoav1.ErrorKind_ERROR_KIND_REQUEST},
		"invitation": {func() error { _, err := d.Join(ctx, []byte{1}); return err }, namespace.ErrNotInvited, codes.InvalidArgument, stoav1.ErrorKind_ERROR_KIND_INVITATION},
		"not due":    {func() error { _, err := d.groups.Rotate(ctx, ns, false); return err }, namespace.ErrNotDue, codes.FailedPrecondition, stoav1.ErrorKind_ERROR_KIND_NOT_DUE},
		"signing":    {func() error { return d.groups.DeleteSigningKey(ctx, ns, self) }, namespace.ErrNoSigningKey, codes.NotFound, stoav1.ErrorKind_ERROR_KIND_NO_SIGNING_KEY},
		"expired": {func() error {
			v, err := d.Invite(ctx, namespace.Invite{GroupID: ns, Role: codec.Member, Expires: time.Unix(1, 0)})
			require.NoError(t, err)
			b := startGov(t, rpc.FramingAuto, Options{})
			j, err := b.Join(ctx, v)
			require.NoError(t, err)
			_, err = d.Admit(ctx, j.Request)
			return err
		}, namespace.ErrExpired, codes.FailedPrecondition, stoav1.ErrorKind_ERROR_KIND_EXPIRED},
	} {
		err := c.call()
		require.ErrorIs(t, err, c.is, name)
		require.Equal(t, c.code, status.Code(err), name)
		var e *rpc.Error
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, c.kind, e.Kind, name)
	}
}

func TestErrorsOfGovernanceSayWhatTheyAreAbout(t *testing.T) {
	d, ns := founded(t, rpc.FramingAuto, Options{})
	ctx, none := t.Context(), codec.GroupID{9}
	for name, c := range map[string]struct {
		err          error
		field, value string
	}{
		"namespace": {second(d.Namespace(ctx, none)), fault.FieldNamespace, none.String()},
		"tree":      {second(d.Tree(ctx, none)), fault.FieldNamespace, none.String()},
		"op":        {second(d.Op(ctx, ns, codec.OpID{9})), fault.FieldNamespace, ns.String()},
		"verify":    {second(d.Verify(ctx, none)), fault.FieldNamespace, none.String()},
		"group":     {second(d.groups.Show(ctx, none)), fault.FieldGroup, none.String()},
		"follow":    {last(d.groups.Follow(ctx, none, 0, false)), fault.FieldGroup, none.String()},
		"of":        {second(d.groups.NamespaceOf(ctx, none)), fault.FieldGroup, none.String()},
		"invite":    {second(d.Invite(ctx, namespace.Invite{GroupID: none, Role: codec.Member})), fault.FieldGroup, none.String()},
		"context": {func() error { _, _, err := d.groups.Resolve(ctx, codec.ContextID{9}); return err }(), fault.FieldContext,
			codec.ContextID{9}.String()},
		"join": {second(d.Join(ctx, []byte{1})), fault.FieldNamespace, ""},

		"no id":   {second(d.groups.Show(ctx, codec.GroupID{})), fault.FieldField, "group_id"},
		"role":    {second(d.Invite(ctx, namespace.Invite{GroupID: ns, Role: 7})), fault.FieldField, "role"},
		"root":    {proposed(d.Propose(ctx, ns, namespace.Proposal{Root: &codec.RootOp{Kind: codec.RootKeyDelivery}})), fault.FieldField, "root.kind"},
		"kind":    {proposed(d.Propose(ctx, ns, namespace.Proposal{GroupID: ns, Group: &codec.GroupOp{Kind: 99}})), fault.FieldField, "group.op.kind"},
		"of what": {proposed(d.Propose(ctx, ns, namespace.Proposal{Group: &codec.GroupOp{}})), fault.FieldField, "group.group_id"},
		"nothing": {proposed(d.Propose(ctx, ns, namespace.Proposal{})), fault.FieldField, "proposal"},
	} {
		var e *rpc.Error
		require.ErrorAs(t, c.err, &e, name)
		require.Equal(t, c.value, e.Fields[c.field], name)
	}
}

func second[T any](_ T, err error) error { return err }

func proposed(_ namespace.Proposed, _ codec.GroupID, err error) error { return err }

// last returns the error that a stream ends with.
func last[T any](all iter.Seq2[T, error]) (err error) {
	for _, err = range all {
	}
	return err
}

func TestTheDaemonSaysWhenAGroupWasMade(t *testing.T) {
	d, ns := founded(t, rpc.FramingAuto, Options{})
	_, g, err := d.Propose(t.Context(), ns, namespace.Proposal{Root: &codec.RootOp{Kind: codec.RootGroupCreated, ParentID: ns, CreatedAt: 5}})
	require.NoError(t, err)
	info, err := d.groups.Show(t.Context(), g)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), time.Unix(int64(info.Meta.CreatedAt), 0), time.Hour)
}

func TestAPageSaysWhatTheNextIsAfter(t *testing.T) {
	d, _ := founded(t, rpc.FramingAuto, Options{})
	_, _, err := d.Create(t.Context(), namespace.Create{})
	require.NoError(t, err)
	client := stoav1.NewNamespaceClient(d.bare(t))
	first, err := client.List(t.Context(), &stoav1.NamespaceListRequest{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, first.GetNamespaces()[0].GetNamespaceId(), first.GetNext())
	rest, err := client.List(t.Context(), &stoav1.NamespaceListRequest{After: first.GetNext()})
	require.NoError(t, err)
	require.Len(t, rest.GetNamespaces(), 1)
	require.Empty(t, rest.GetNext(), "it is the last")
}

func TestIdentitiesMoveSealedAndOnlyForThoseWhoMaySeeSecrets(t *testing.T) {
	a, ns := founded(t, rpc.FramingAuto, Options{})
	b := startGov(t, rpc.FramingAuto, Options{})
	sealed, err := a.ExportIdentity(t.Context(), ns, []byte("open sesame"))
	require.NoError(t, err)
	_, err = b.ImportIdentity(t.Context(), ns, sealed, []byte("wrong"))
	require.ErrorIs(t, err, namespace.ErrExport)
	id, err := b.ImportIdentity(t.Context(), ns, sealed, []byte("open sesame"))
	require.NoError(t, err)
	self, err := a.Identity(t.Context(), ns)
	require.NoError(t, err)
	require.Equal(t, self, id)
	_, err = namespace.Sync(t.Context(), ns, a, b)
	require.NoError(t, err)
	b.propose(t, ns, codec.GroupOp{Kind: codec.OpGroupAliasSet, Name: codec.Some(codec.AliasName("moved"))})

	closed, ns := founded(t, rpc.FramingAuto, Options{Peers: only(access.All &^ access.Secrets)})
	_, err = closed.ExportIdentity(t.Context(), ns, []byte("open sesame"))
	require.ErrorIs(t, err, rpc.ErrSecret)
	_, err = closed.ImportIdentity(t.Context(), ns, sealed, []byte("open sesame"))
	require.ErrorIs(t, err, rpc.ErrSecret)
}

func TestSigningKeysAreKeptOverTheSocket(t *testing.T) {
	d, ns := founded(t, rpc.FramingAuto, Options{})
	var seed codec.Secret
	_, _ = rand.Read(seed[:])
	public, err := d.groups.AddSigningKey(t.Context(), ns, codec.Some(seed))
	require.NoError(t, err)
	require.Equal(t, group.IdentityOf(seed), public)
	fresh, err := d.groups.AddSigningKey(t.Context(), ns, codec.Option[codec.Secret]{})
	require.NoError(t, err)
	all, err := d.groups.SigningKeys(t.Context(), ns)
	require.NoError(t, err)
	require.ElementsMatch(t, []codec.Identity{public, fresh}, all)
	require.NoError(t, d.groups.DeleteSigningKey(t.Context(), ns, public))
}

func TestRowsOfGovernanceAreWrittenByItsServicesOnly(t *testing.T) {
	d, ns := founded(t, rpc.FramingAuto, Options{})
	raw, _ := founded(t, rpc.FramingAuto, Options{Raw: true})
	for name, change := range map[string]func(*engine.Batch){
		"group": func(b *engine.Batch) { engine.Put(b, keys.GroupAlias{Group: ns}, codec.AliasName("mine")) },
		"key": func(b *engine.Batch) {
			engine.Put(b, keys.GroupSigningKey{Group: ns, Key: codec.KeyID{1}}, codec.GroupSigningKeyValue{})
		},
		"config": func(b *engine.Batch) {
			engine.Put(b, keys.ContextConfig{Context: codec.ContextID{1}}, codec.ContextConfigValue{})
		},
		"range": func(b *engine.Batch) { b.DeleteRange(column.Group, []byte{0x25}, []byte{0x26}) },
	} {
		var b engine.Batch
		change(&b)
		err := d.dial(t).Store(t.Context()).Apply(&b)
		require.ErrorIs(t, err, rpc.ErrOwned, name)
		var e *rpc.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "stoa.v1.Namespace", e.Fields[fault.FieldOwner])
		require.NoError(t, raw.dial(t).Store(t.Context()).Apply(&b), name)
	}
}
