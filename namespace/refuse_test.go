package namespace

import (
	"bytes"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/faulty"
)

// mergeOn returns a Merge by the person of that name on given parents.
func mergeOn(t testing.TB, ns codec.GroupID, name string, nonce uint64, parents ...codec.OpID) *Op {
	s := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: ns, Parents: parents, Nonce: nonce, Op: codec.NamespaceOp{Root: codec.RootOp{Kind: codec.RootMerge}}}
	require.NoError(t, Sign(s, seedOf(name)))
	op, err := NewOp(s)
	require.NoError(t, err)
	return op
}

// pendingRows returns how many ops wait on disk.
func pendingRows(t testing.TB, r engine.Reader, ns codec.GroupID) (n int) {
	require.NoError(t, each(r, scoped(nil, pendingScope, ns), func(_, _ []byte) error { n++; return nil }))
	return n
}

// An op that is refused, for whatever reason, takes what has waited for it along, in
// every order of arrival.
func TestChildrenOfARefusedOpAreRefused(t *testing.T) {
	z, _, ns := pairOf(t)
	heads, err := z.Heads(t.Context(), ns)
	require.NoError(t, err)
	spoilt := mergeOn(t, ns, "K", 1, heads...).wire()
	spoilt[len(spoilt)-1] ^= 1
	shortened := mergeOn(t, ns, "K", 1, heads...).wire()
	shortened = shortened[:len(shortened)-1]
	db := z.db
	require.NoError(t, z.Close())
	for name, bad := range map[string]struct {
		wire   []byte
		reason RefusalReason
	}{
		"nonce":     {mergeOn(t, ns, "K", 2, heads...).wire(), BadNonce},
		"stranger":  {mergeOn(t, ns, "X", 1, heads...).wire(), Stranger},
		"signature": {spoilt, BadSignature},
		"bytes":     {shortened, BadForm},
	} {
		t.Run(name, func(t *testing.T) {
			id := codec.OpID(sha256.Sum256(append([]byte(domainOp2), bad.wire...)))
			child := mergeOn(t, ns, "K", 2, id)
			both := []codec.OpID{id, heads[0]}
			if codec.CompareID(both[0], both[1]) > 0 {
				both[0], both[1] = both[1], both[0]
			}
			other := mergeOn(t, ns, "Z", 9, both...)
			grandchild := mergeOn(t, ns, "K", 3, child.ID)
			wires := [][]byte{bad.wire, child.wire(), other.wire(), grandchild.wire()}
			permute(len(wires), func(order []int) {
				s := openStore(t, db, 3)
				defer s.Close()
				before := rowsOf(t, s.db)
				gone := map[codec.OpID]RefusalReason{}
				note := func(a Answer) {
					if a.Kind == Refused {
						gone[a.ID] = a.Refusal.Reason
						for _, c := range a.Cascade {
							require.Equal(t, Refused, c.Kind)
							require.Equal(t, ns, c.Namespace)
							gone[c.ID] = c.Refusal.Reason
						}
					}
				}
				_, _, err := s.Waiting(ns) // it is in use
				require.NoError(t, err)
				for _, i := range order {
					a, err := s.Apply(bg, wires[i])
					require.NoError(t, err)
					note(a)
				}
				require.Equal(t, map[codec.OpID]RefusalReason{id: bad.reason, child.ID: RefusedAncestor, other.ID: RefusedAncestor,
					grandchild.ID: RefusedAncestor}, gone, "%v", order)
				n, _, err := s.Waiting(ns)
				require.NoError(t, err)
				require.Zero(t, n)
				missing, err := s.Missing(ns, codec.OpID{}, 0)
				require.NoError(t, err)
				require.Empty(t, missing)
				require.Equal(t, before, rowsOf(t, s.db), "something of them is left")
			})
		})
	}
}

// So it does where this process has not used the namespace before.
func TestWhatWaitedOverARestartGoesWithARefusedOp(t *testing.T) {
	z, _, ns := pairOf(t)
	heads, err := z.Heads(t.Context(), ns)
	require.NoError(t, err)
	spoilt := mergeOn(t, ns, "K", 1, heads...).wire()
	spoilt[len(spoilt)-1] ^= 1
	id := codec.OpID(sha256.Sum256(append([]byte(domainOp2), spoilt...)))
	child := mergeOn(t, ns, "K", 2, id)
	answer, err := z.Apply(bg, child.wire())
	require.NoError(t, err)
	require.Equal(t, Pending, answer.Kind)
	db := z.db
	require.NoError(t, z.Close())

	s := openStore(t, db, 3)
	answer, err = s.Apply(bg, spoilt)
	require.NoError(t, err)
	require.Equal(t, BadSignature, answer.Refusal.Reason)
	require.Len(t, answer.Cascade, 1)
	require.Equal(t, child.ID, answer.Cascade[0].ID)
	require.Zero(t, pendingRows(t, db, ns))
	elsewhere := bytes.Clone(spoilt)
	elsewhere[1] ^= 1
	_, err = s.Apply(bg, elsewhere)
	require.NoError(t, err)
	require.Nil(t, s.inUse(claimed(elsewhere)), "garbage of another namespace takes no room")
}

// permute calls fn with every order of 0 to n-1.
func permute(n int, fn func([]int)) {
	var rec func(order []int, left []int)
	rec = func(order, left []int) {
		if len(left) == 0 {
			fn(order)
			return
		}
		for i := range left {
			rest := append(append([]int(nil), left[:i]...), left[i+1:]...)
			rec(append(append([]int(nil), order...), left[i]), rest)
		}
	}
	var all []int
	for i := range n {
		all = append(all, i)
	}
	rec(nil, all)
}

// What waited for a refused op over a restart is refused when that one is offered again,
// also where it is found out only by its ancestors, and as one of a cascade.
func TestRefusalsAreFoundOutAgainAfterARestart(t *testing.T) {
	z, k, ns := pairOf(t)
	good := proposed(t, z, ns, ns, call("later"))
	bad := mergeOn(t, ns, "K", 7, good.Answer.ID)
	child := mergeOn(t, ns, "K", 8, bad.ID)
	grandchild := mergeOn(t, ns, "K", 9, child.ID)
	for _, op := range []*Op{grandchild, child, bad} {
		a, err := k.Apply(bg, op.wire())
		require.NoError(t, err)
		require.Equal(t, Pending, a.Kind)
	}
	pending, err := k.PendingOps(ns, codec.OpID{}, 0)
	require.NoError(t, err)
	require.Len(t, pending, 3)
	for _, p := range pending {
		require.Len(t, p.Missing, 1)
		require.Equal(t, len(bad.wire()), p.Bytes)
	}
	page, err := k.PendingOps(ns, pending[0].ID, 1)
	require.NoError(t, err)
	require.Equal(t, pending[1:2], page)
	k = k.reopened(t, 9)
	require.Equal(t, 3, pendingRows(t, k.db, ns))
	a := applied(t, k, good.Wire...)
	require.Len(t, a.Cascade, 3)
	for i, want := range []RefusalReason{BadNonce, RefusedAncestor, RefusedAncestor} {
		require.Equal(t, want, a.Cascade[i].Refusal.Reason)
	}
	require.Zero(t, pendingRows(t, k.db, ns))
	a, err = k.Apply(bg, grandchild.wire())
	require.NoError(t, err)
	require.Equal(t, RefusedAncestor, a.Refusal.Reason)
	k = k.reopened(t, 9)
	a, err = k.Apply(bg, child.wire())
	require.NoError(t, err)
	require.Equal(t, Pending, a.Kind, "nothing of a refused op was kept")
	a, err = k.Apply(bg, bad.wire())
	require.NoError(t, err)
	require.Equal(t, BadNonce, a.Refusal.Reason)
	require.Equal(t, child.ID, a.Cascade[0].ID)
	require.Zero(t, pendingRows(t, k.db, ns))
}

func TestRefusalsAreBounded(t *testing.T) {
	var r refusals
	for i := range keptRefusals + 10 {
		r.note(codec.OpID{byte(i), byte(i >> 8)})
		r.note(codec.OpID{byte(i), byte(i >> 8)})
	}
	require.Len(t, r.ids, keptRefusals)
	require.Len(t, r.oldest, keptRefusals)
	_, known := r.among([]codec.OpID{{9}})
	require.False(t, known)
	id, known := r.among([]codec.OpID{{9}, {10}})
	require.True(t, known)
	require.Equal(t, codec.OpID{10}, id)
}

// An invitation writes nothing, however many heads there are.
func TestInvitingJoinsNoHeads(t *testing.T) {
	z, _, ns := pairOf(t)
	takeForks(z)
	first, err := z.Heads(t.Context(), ns)
	require.NoError(t, err)
	for n := range MaxParents + 6 {
		applied(t, z, besideK(t, z, ns, first, n))
	}
	before := rowsOf(t, z.db)
	invitation, err := z.Invite(bg, Invite{GroupID: ns, Role: codec.Member, Expires: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	require.Equal(t, before, rowsOf(t, z.db))
	request, err := newStore(t, 4).Join(bg, invitation)
	require.NoError(t, err)
	p, err := z.Admit(bg, request)
	require.NoError(t, err)
	require.Len(t, p.Wire, 3, "a merge, the joining, and the key")
}

// Wherever the process ends while it refuses an op, nothing of that op is there, and what
// waited for it goes with it then or when it is offered again.
func TestRefusingDiesAtAnyCall(t *testing.T) {
	z, k, ns := pairOf(t)
	good := proposed(t, z, ns, ns, call("later"))
	bad := mergeOn(t, ns, "K", 7, good.Answer.ID)
	child := mergeOn(t, ns, "K", 8, bad.ID)
	applied(t, k, child.wire())
	require.NoError(t, k.Close())
	for name, first := range map[string]*Op{"at once": nil, "out of those that wait": bad} {
		t.Run(name, func(t *testing.T) {
			base := copied(t, k.db)
			wire := bad.wire()
			s := openStore(t, base, 1)
			if first == nil {
				applied(t, s, good.Wire...)
			} else { // its parent comes, and it is found out
				applied(t, s, first.wire())
				wire = good.Wire[0]
			}
			require.NoError(t, s.Close())
			for _, fault := range []faulty.Fault{faulty.CrashBefore, faulty.CrashAfter, faulty.Fail} {
				for n := 1; ; n++ {
					f := faulty.New(copied(t, base), faulty.Options{At: n, Calls: faulty.Writes, Fault: fault})
					s := openStore(t, f, 2)
					_, _, err := s.Waiting(ns)
					require.NoError(t, err)
					_, err = s.Apply(bg, wire)
					require.NoError(t, s.Close())
					s = openStore(t, f.Restart(), 3)
					_, _, waits := s.Waiting(ns)
					require.NoError(t, waits)
					a, again := s.Apply(bg, bad.wire())
					require.NoError(t, again)
					if fault == faulty.CrashAfter || err == nil || first == nil {
						require.Equal(t, Refused, a.Kind)
					} else {
						require.Equal(t, Pending, a.Kind)
						applied(t, s, wire)
					}
					require.Zero(t, pendingRows(t, s.db, ns))
					requireSound(t, s, ns)
					if !f.Tripped() {
						break
					}
				}
			}
		})
	}
}
