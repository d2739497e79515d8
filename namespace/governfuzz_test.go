package namespace_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// twoAdmins is two Admins of a namespace and what they have signed, partly beside each
// other: always the same ops.
type twoAdmins struct {
	namespace codec.GroupID
	seeds     map[codec.Identity]codec.Secret
	founder   codec.NamespaceIdentityValue
	wires     [][]byte
}

// clock stands still, so that the ops are always the same.
func clock() time.Time { return time.Unix(1_000_000_000, 0) }

func governed(t testing.TB) *twoAdmins {
	bg, c := context.Background(), &twoAdmins{seeds: map[codec.Identity]codec.Secret{}}
	random := rand.NewChaCha8([32]byte{7})
	open := func() *namespace.Store {
		db := mem.New()
		s, err := namespace.Open(db, namespace.Options{Rand: random, Now: clock})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, errors.Join(s.Close(), db.Close())) })
		return s
	}
	z, k := open(), open()
	ns, done, err := z.Create(bg, namespace.Create{Alias: codec.Some(codec.AliasName("council"))})
	require.NoError(t, err)
	c.namespace = ns
	c.founder, err = z.ExportIdentity(ns)
	require.NoError(t, err)
	second := codec.NamespaceIdentityValue{PrivateKey: sha256.Sum256([]byte("second"))}
	second.PublicKey = group.IdentityOf(second.PrivateKey)
	require.NoError(t, k.ImportIdentity(ns, second))
	c.seeds[c.founder.PublicKey], c.seeds[second.PublicKey] = c.founder.PrivateKey, second.PrivateKey
	third := group.IdentityOf(sha256.Sum256([]byte("third")))
	give := func(s *namespace.Store, wires [][]byte) {
		for _, w := range wires {
			_, err := s.Apply(bg, w)
			require.NoError(t, err)
		}
	}
	c.wires = append(c.wires, done.Wire...)
	propose := func(s *namespace.Store, p namespace.Proposal) [][]byte {
		p.GroupID = ns
		done, err := s.Propose(bg, ns, p)
		require.NoError(t, err)
		c.wires = append(c.wires, done.Wire...)
		return done.Wire
	}
	body := func(b codec.GroupOp) namespace.Proposal { return namespace.Proposal{Group: &b} }
	propose(z, body(codec.GroupOp{Kind: codec.OpMemberAdded, Member: second.PublicKey, Role: codec.Admin}))
	propose(z, body(codec.GroupOp{Kind: codec.OpMemberAdded, Member: third, Role: codec.Member}))
	propose(z, namespace.Proposal{Root: &codec.RootOp{Kind: codec.RootGroupCreated, ParentID: ns}})
	give(k, c.wires)
	byZ := propose(z, body(codec.GroupOp{Kind: codec.OpMemberRemoved, Member: second.PublicKey}))
	byK := propose(k, body(codec.GroupOp{Kind: codec.OpMemberRemoved, Member: third}))
	byK = append(byK, propose(k, body(codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: codec.ContextID{1}}))...)
	give(k, byZ)
	give(z, byK)
	propose(z, namespace.Proposal{Root: &codec.RootOp{Kind: codec.RootMerge}})
	propose(z, body(codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: codec.ContextID{2}}))
	return c
}

// audience is a node that is told anything, and what it should have taken.
type audience struct {
	t     testing.TB
	db    engine.Engine
	store *namespace.Store

	has     map[codec.OpID]*namespace.Op
	waiting []*namespace.Op
}

func (l *audience) open() {
	var err error
	l.store, err = namespace.Open(l.db, namespace.Options{Now: clock})
	require.NoError(l.t, err)
}

// hear gives the store bytes, and demands the answer of the definition.
func (l *audience) hear(wire []byte, ns codec.GroupID) {
	before := bytes.Clone(wire)
	a, err := l.store.Apply(context.Background(), wire)
	require.NoError(l.t, err)
	require.Equal(l.t, before, wire, "the bytes are the caller's")
	s, err := codec.SignedNamespaceOp{}.Decode(before)
	if err != nil {
		require.Equal(l.t, namespace.Refused, a.Kind)
		require.Equal(l.t, namespace.BadForm, a.Refusal.Reason)
		return
	}
	op, err := namespace.Check(&s)
	if s.NamespaceID != ns { // which is found before its signature is looked at
		require.Equal(l.t, namespace.Refused, a.Kind)
		require.Contains(l.t, []namespace.RefusalReason{namespace.NotFollowed, namespace.BadForm}, a.Refusal.Reason)
		return
	}
	if err != nil {
		l.requireRefused(a, err)
		return
	}
	switch {
	case l.has[op.ID] != nil:
		require.Equal(l.t, namespace.Duplicate, a.Kind)
	case !l.ready(op):
		require.Equal(l.t, namespace.Pending, a.Kind)
		l.waiting = append(l.waiting, op)
	default:
		if err := l.judge(op); err != nil {
			l.requireRefused(a, err)
			return
		}
		require.Equal(l.t, namespace.Stored, a.Kind)
		l.cascade()
	}
}

func (l *audience) requireRefused(a namespace.Answer, err error) {
	var r *namespace.Refusal
	require.ErrorAs(l.t, err, &r)
	require.Equal(l.t, namespace.Refused, a.Kind, err)
	require.Equal(l.t, r.Reason, a.Refusal.Reason, err)
}

func (l *audience) ready(op *namespace.Op) bool {
	return !slices.ContainsFunc(op.Parents, func(p codec.OpID) bool { return l.has[p] == nil })
}

// judge takes op, whose parents are there, or returns why not.
func (l *audience) judge(op *namespace.Op) error {
	if len(op.Parents) == 0 && len(l.has) > 0 {
		return &namespace.Refusal{Op: op.ID, Reason: namespace.BadForm}
	}
	var above []*namespace.Op
	seen := map[codec.OpID]bool{}
	for stack := slices.Clone(op.Parents); len(stack) > 0; {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !seen[id] {
			seen[id] = true
			above = append(above, l.has[id])
			stack = append(stack, l.has[id].Parents...)
		}
	}
	err := namespace.Admit(op, above)
	if err == nil {
		l.has[op.ID] = op
	}
	return err
}

func (l *audience) cascade() {
	for i := 0; i < len(l.waiting); i++ {
		op := l.waiting[i]
		if !l.ready(op) {
			continue
		}
		l.waiting = slices.Delete(l.waiting, i, i+1)
		if l.has[op.ID] == nil && l.judge(op) == nil {
			i = -1
		} else {
			i--
		}
	}
}

// check demands that exactly the ops are stored that should be, and that all rows are
// those of the definition.
func (l *audience) check(ns codec.GroupID) {
	stored := 0
	for e, err := range engine.Scan(l.db, keys.GovOpsOf(ns)) {
		require.NoError(l.t, err)
		require.NotNil(l.t, l.has[e.Key.Delta], "op %s should not be there", e.Key.Delta)
		stored++
	}
	require.Equal(l.t, len(l.has), stored)
	if stored == 0 {
		return
	}
	found, err := l.store.Verify(context.Background(), ns)
	require.NoError(l.t, err)
	require.Empty(l.t, found)
}

// The input is steps of four bytes: what is done to which op, where, and with what.
func FuzzGovernance(f *testing.F) {
	c := governed(f)
	all := []byte{}
	for i := range c.wires {
		all = append(all, 0, byte(i), 0, 0)
	}
	f.Add(all)
	reversed := []byte{}
	for i := range c.wires {
		reversed = append(reversed, 0, byte(len(c.wires)-1-i), 0, 0, 4, 0, 0, 0)
	}
	f.Add(reversed)
	f.Add(append(slices.Clone(all), 1, 3, 40, 1, 2, 4, 70, 3, 2, 5, 120, 9, 3, 2, 90, 4))
	f.Fuzz(func(t *testing.T, steps []byte) {
		if len(steps) > 4*64 {
			return
		}
		l := &audience{t: t, db: mem.New(), has: map[codec.OpID]*namespace.Op{}}
		l.open()
		require.NoError(t, l.store.ImportIdentity(c.namespace, c.founder))
		for len(steps) >= 4 {
			wire := bytes.Clone(c.wires[int(steps[1])%len(c.wires)])
			at := int(steps[2]) * len(wire) / 256
			switch steps[0] % 6 {
			case 0: // as it is
			case 1: // a byte is another
				wire[at] ^= steps[3]
			case 2: // and signed again, as its author might
				wire[at] ^= steps[3]
				wire = c.signed(wire)
			case 3: // the end is that of another op
				other := c.wires[int(steps[3])%len(c.wires)]
				wire = append(wire[:at], other[min(at, len(other)):]...)
			case 4:
				require.NoError(t, l.store.Close())
				l.open()
			case 5: // these bytes themselves
				wire = steps
			}
			if steps[0]%6 != 4 {
				l.hear(wire, c.namespace)
			}
			steps = steps[4:]
		}
		l.check(c.namespace)
		require.NoError(t, errors.Join(l.store.Close(), l.db.Close()))
	})
}

// signed returns wire with the signature of the one it names, if that is one of the
// twoAdmins and wire is an op.
func (c *twoAdmins) signed(wire []byte) []byte {
	s, err := codec.SignedNamespaceOp{}.Decode(wire)
	if err != nil {
		return wire
	}
	seed, known := c.seeds[s.Signer]
	if !known || namespace.Sign(&s, seed) != nil {
		return wire
	}
	b, err := s.AppendBinary(nil)
	if err != nil {
		return wire
	}
	return b
}
