package namespace_test

import (
	"crypto/sha512"
	"fmt"
	"slices"
	"testing"

	"filippo.io/edwards25519"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

// cloned returns an engine with the rows of db.
func cloned(t require.TestingT, db engine.Reader) engine.Engine {
	to := mem.New()
	fill(t, to, db)
	return to
}

// fill copies all rows into an engine.
func fill(t require.TestingT, to engine.Engine, from engine.Reader) {
	var b engine.Batch
	for col := range column.All {
		it, err := from.Iterate(col, engine.Range{})
		require.NoError(t, err)
		for it.Next() {
			b.Put(col, it.Key(), it.Value())
		}
		require.NoError(t, it.Err())
		require.NoError(t, it.Close())
	}
	require.NoError(t, to.Apply(&b))
}

// orders calls fn with every order of n things; beyond 5 things, and where tests are
// to be short, with some.
func orders(n int, fn func([]int)) {
	most, step, count := enginetest.Scale(120), 1, 1
	for i := 2; i <= n; i++ {
		count *= i
	}
	if count > most {
		step = count/most + 1
	}
	nth := 0
	var permute func(done, left []int)
	permute = func(done, left []int) {
		if len(left) == 0 {
			if nth++; nth%step == 0 {
				fn(done)
			}
			return
		}
		for i, x := range left {
			rest := slices.Delete(slices.Clone(left), i, i+1)
			permute(append(slices.Clone(done), x), rest)
		}
	}
	left := make([]int, n)
	for i := range left {
		left[i] = i
	}
	permute(nil, left)
}

// everyOrder gives nodes of Z and M the first ops of f in order, the others in every
// order, and demands that all end with the rows of the definition. It returns what they
// amount to for Z.
func (f *forge) everyOrder(t *testing.T, from int) *group.Result {
	var last *group.Result
	for _, name := range []string{"M", "Z"} {
		first := newWitness(t, f, name, newMem())
		for _, op := range f.ops[:from] {
			first.give(op)
		}
		first.check()
		orders(len(f.ops)-from, func(order []int) {
			w := newWitness(t, f, name, cloned(t, first.db))
			w.has, w.log = cloneMap(first.has), first.log
			for n, i := range order {
				w.give(f.ops[from+i])
				if n == len(order)/2 {
					w.restart()
				}
				for _, bad := range f.refused {
					w.giveBad(bad)
				}
			}
			last = w.check()
			w.close()
		})
		first.close()
	}
	return last
}

func cloneMap[K comparable, V any](m map[K]V) map[K]V {
	c := make(map[K]V, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}

func requireVerdict(t *testing.T, want string, r *group.Result, op *namespace.Op) {
	t.Helper()
	require.Equal(t, want, r.Verdicts[op.ID].String())
}

// K and L are Admins under Z. L promotes B, K promotes A, K promotes B again. A, who has
// seen the second and third, removes B, while B, who has seen the first and second,
// removes A. Exactly one outcome, in every order.
func TestMutualRemovalInEveryOrder(t *testing.T) {
	f := opening(t)
	f.op("Z", added("A", codec.Member))
	base := f.op("Z", added("B", codec.Member))
	from := len(f.ops)
	first := f.op("L", roleSet("B", codec.Admin), base.ID)
	second := f.op("K", roleSet("A", codec.Admin), base.ID)
	third := f.op("K", roleSet("B", codec.Admin), second.ID)
	byA := f.op("A", removed("B"), third.ID)
	byB := f.op("B", removed("A"), first.ID, second.ID)
	r := f.everyOrder(t, from)
	a, b := r.Verdicts[byA.ID].Outcome == group.Effective, r.Verdicts[byB.ID].Outcome == group.Effective
	require.NotEqual(t, a, b)
	require.Equal(t, !b, slices.Contains(r.Members(f.ns), is("A")))
	require.Equal(t, !a, slices.Contains(r.Members(f.ns), is("B")))
}

// A removed admin signs ops with an old nonce and low height: nothing changes.
func TestBackDatedOpsInEveryOrder(t *testing.T) {
	f := opening(t)
	removal := f.op("Z", removed("K"))
	before, from := f.everyOrder(t, len(f.ops)), len(f.ops)
	low := f.ops[2].ID
	var late []*namespace.Op
	for _, body := range []codec.GroupOp{removed("M"), added("X", codec.Member), roleSet("M", codec.Admin), named("k")} {
		late = append(late, f.op("K", body, low))
	}
	r := f.everyOrder(t, from)
	requireVerdict(t, "effective", r, removal)
	for _, op := range late {
		require.Equal(t, group.Void, r.Verdicts[op.ID].Outcome)
	}
	for _, g := range []codec.GroupID{f.ns, f.sub} {
		require.Equal(t, before.Members(g), r.Members(g))
	}
	require.Len(t, r.Equivocations, 1)
	require.Equal(t, 4, r.Equivocations[0].Count)
}

// An op that is void until the revocation that struck its signer is itself voided
// becomes effective on every node.
func TestVoidUntilTheRevocationIsVoidedInEveryOrder(t *testing.T) {
	f := opening(t)
	base, from := f.heads()[0], len(f.ops)
	byL := f.op("L", added("A", codec.Member), base)
	removal := f.op("K", removed("L"), base)
	r := f.everyOrder(t, from)
	requireVerdict(t, "effective", r, removal)
	requireVerdict(t, "void: right revoked", r, byL)
	f.op("Z", removed("K"), base)
	r = f.everyOrder(t, from)
	requireVerdict(t, "void: right revoked", r, removal)
	requireVerdict(t, "effective", r, byL)
	require.Contains(t, r.Members(f.ns), is("A"))
}

// A sealed op under a key that nobody has does not stop the group: it counts in the DAG,
// and what comes after it takes effect.
func TestKeyThatNobodyHasInEveryOrder(t *testing.T) {
	f := opening(t)
	from := len(f.ops)
	base := f.ops[len(f.ops)-1]
	shut := f.rotated(f.ns, "M", nil, f.members(f.heads(), f.ns))
	lost, _ := f.keyAt([]codec.OpID{shut.ID}, f.ns)
	for i := range shut.Signed.Op.Keys[0].Envelopes {
		shut.Signed.Op.Keys[0].Envelopes[i].Sealed[0] ^= 1
	}
	f.ops, f.byID[shut.ID] = f.ops[:len(f.ops)-1], nil
	require.NoError(t, namespace.Sign(shut.Signed, who("M")))
	shut = f.take(shut.Signed)
	require.NotNil(t, shut)
	lost.op = shut.ID
	f.ring[namespace.GroupKey{GroupID: f.ns, KeyID: shut.Keys[0].KeyID}] = lost.key
	key, ok := f.keyAt([]codec.OpID{base.ID}, f.ns)
	require.True(t, ok)
	s := f.draft("Z", []codec.OpID{shut.ID})
	after := f.sealed(s, f.ns, key, f.inner(s, f.ns, named("after")))
	s = f.draft("K", []codec.OpID{shut.ID})
	under := f.sealed(s, f.ns, lost, f.inner(s, f.ns, named("under")))
	r := f.everyOrder(t, from)
	requireVerdict(t, "effective", r, after)
	requireVerdict(t, "sealed", r, under)
}

// An inner op that another member wraps again, as its own or in another group, is void.
func TestRewrappedInEveryOrder(t *testing.T) {
	f := opening(t)
	from := len(f.ops)
	op := f.op("Z", named("z"))
	plain := f.read(op, f.ring).plain
	require.NotEmpty(t, plain)
	var wrapped []*namespace.Op
	wrap := func(name string, g codec.GroupID, parents ...codec.OpID) {
		s := f.draft(name, parents)
		under, _ := f.keyAt(s.Parents, g)
		wrapped = append(wrapped, f.sealed(s, g, under, plain))
	}
	wrap("K", f.ns, op.Parents...)
	wrap("Z", f.ns, op.ID)
	wrap("Z", f.sub, op.Parents...)
	r := f.everyOrder(t, from)
	requireVerdict(t, "effective", r, op)
	for _, w := range wrapped[:2] {
		requireVerdict(t, "void: rewrapped", r, w)
	}
	requireVerdict(t, "void: rewrapped", r, wrapped[2])
}

// An old admin back-dates after the transfer.
func TestBackDatingAfterTheTransferInEveryOrder(t *testing.T) {
	f := opening(t)
	base, from := f.heads()[0], len(f.ops)
	transfer := f.op("Z", codec.GroupOp{Kind: codec.OpAdminTransferred, Member: is("K")}, base)
	old := f.op("Z", added("A", codec.Admin), base)
	again := f.op("Z", codec.GroupOp{Kind: codec.OpAdminTransferred, Member: is("L")}, base, old.ID)
	r := f.everyOrder(t, from)
	requireVerdict(t, "effective", r, transfer)
	requireVerdict(t, "void: right revoked", r, old)
	requireVerdict(t, "void: right revoked", r, again)
}

// The creator can sign the creation twice, so that the ids differ; the second is refused
// wherever the first is.
func TestSecondCreationIsRefused(t *testing.T) {
	f := opening(t)
	second := *f.ops[0].Signed
	b := bytesOf(t, f.ops[0])
	second.Signature = signOtherwise(t, who("Z"), 0, append([]byte("stoa.namespace.v2"), group.Unsigned(b)...))
	op, err := namespace.Check(&second)
	require.NoError(t, err, "it is a good signature")
	require.NotEqual(t, f.ops[0].ID, op.ID)
	w := newWitness(t, f, "Z", newMem())
	defer w.close()
	for n := range f.ops {
		w.give(f.ops[n])
		if n%2 == 0 {
			w.restart()
		}
		w.giveBad(refused{bytesOf(t, op), op, namespace.BadForm})
	}
	w.check()
}

// signOtherwise signs as Ed25519 does, but for the nonce inside, which is another for
// each n.
func signOtherwise(t require.TestingT, seed codec.Secret, n int, message []byte) (sig codec.Signature) {
	hashed := sha512.Sum512(seed[:])
	secret, err := edwards25519.NewScalar().SetBytesWithClamping(hashed[:32])
	require.NoError(t, err)
	drawn := sha512.Sum512(append(fmt.Append(nil, "otherwise ", n), message...))
	r, err := edwards25519.NewScalar().SetUniformBytes(drawn[:])
	require.NoError(t, err)
	point := new(edwards25519.Point).ScalarBaseMult(r).Bytes()
	public := group.IdentityOf(seed)
	sum := sha512.Sum512(slices.Concat(point, public[:], message))
	k, err := edwards25519.NewScalar().SetUniformBytes(sum[:])
	require.NoError(t, err)
	copy(sig[:], point)
	copy(sig[32:], edwards25519.NewScalar().MultiplyAdd(k, secret, r).Bytes())
	return sig
}
