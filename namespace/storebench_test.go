package namespace

import (
	"crypto/ed25519"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// madeHistory returns the ops of a namespace of Z's in which so many follow each other:
// names, members and roles of 50 people.
func madeHistory(t testing.TB, n int) (codec.GroupID, [][]byte) {
	z := found(t, "Z")
	var wires [][]byte
	keep := func(s *codec.SignedNamespaceOp) codec.OpID {
		wire, err := s.AppendBinary(nil)
		require.NoError(t, err)
		wires = append(wires, wire)
		op, err := NewOp(s)
		require.NoError(t, err)
		return op.ID
	}
	keep(z.ops[0].Signed)
	made := z.do(call("x"))
	rotation, head := keep(made[0]), keep(made[1])
	var key codec.Secret
	for _, secret := range z.ring {
		key = secret
	}
	for i := range n {
		who := fmt.Sprint("person ", i%50)
		var body codec.GroupOp
		switch {
		case i < 50:
			body = add(who, codec.Member)
		case i%7 == 0:
			body = codec.GroupOp{Kind: codec.OpMemberRoleSet, Member: idOf(who), Role: codec.GroupMemberRole(i / 350 % 2)}
		case i%11 == 0:
			body = codec.GroupOp{Kind: codec.OpMemberCapabilitySet, Member: idOf(who), Capabilities: codec.Capabilities(i % 128)}
		default:
			body = codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: idOf(who), Name: codec.Some(codec.AliasName(fmt.Sprint("n", i)))}
		}
		s := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: z.namespace, Parents: []codec.OpID{head}, Nonce: uint64(4 + i), Signer: idOf("Z"),
			Op: codec.NamespaceOp{Kind: codec.NamespaceSealed, GroupID: z.namespace, KeyOp: rotation}}
		inner := codec.SignedGroupOp{GroupID: z.namespace, Parents: s.Parents, Signer: s.Signer, Nonce: s.Nonce, Op: body}
		require.NoError(t, group.SignOp(&inner, seedOf("Z")))
		if IsClear(body.Kind) {
			s.Op = codec.NamespaceOp{Kind: codec.NamespaceClear, GroupID: z.namespace, Op: body, OpSignature: inner.Signature}
		} else {
			plain, err := inner.AppendBinary(nil)
			require.NoError(t, err)
			require.NoError(t, SealOp(z.random, s, key, plain))
		}
		require.NoError(t, Sign(s, seedOf("Z")))
		head = keep(s)
	}
	return z.namespace, wires
}

func BenchmarkVerify(b *testing.B) {
	seed := seedOf("Z")
	key := ed25519.NewKeyFromSeed(seed[:])
	message := make([]byte, 350)
	sig := ed25519.Sign(key, message)
	public := key.Public().(ed25519.PublicKey)
	for b.Loop() {
		if !ed25519.Verify(public, message, sig) {
			b.Fatal()
		}
	}
}

// BenchmarkStream applies ops as a stream to a store in memory: what there is besides
// verifying two signatures.
func BenchmarkStream(b *testing.B) {
	for _, n := range []int{1000, 20_000} {
		ns, wires := madeHistory(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				s := newStore(b, 1)
				imported(b, s, ns, "Z")
				for a, err := range s.ApplyMany(bg, func(yield func([]byte) bool) {
					for _, w := range wires {
						if !yield(w) {
							return
						}
					}
				}) {
					require.NoError(b, err)
					require.Equal(b, Stored, a.Kind)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(wires)), "ns/op-applied")
		})
	}
}

// BenchmarkOps reads the log of a group.
func BenchmarkOps(b *testing.B) {
	ns, wires := madeHistory(b, 3000)
	s := newStore(b, 1)
	imported(b, s, ns, "Z")
	applied(b, s, wires...)
	n := 0
	for b.Loop() {
		for _, err := range s.Ops(bg, ns, Window{}) {
			require.NoError(b, err)
			n++
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "ops/s")
}

// BenchmarkPropose has so many goroutines propose at once to a store in memory, with
// batches that they share.
func BenchmarkPropose(b *testing.B) {
	for _, writers := range []int{1, 16} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) {
			s := newStore(b, 1)
			ns, _ := created(b, s)
			propose := func(i int64) error {
				alias := codec.GroupOp{Kind: codec.OpGroupAliasSet, Name: codec.Some(codec.AliasName(fmt.Sprint("n", i)))}
				_, err := s.Propose(bg, ns, Proposal{GroupID: ns, Group: &alias})
				return err
			}
			var next atomic.Int64
			var done sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			var before, after syscall.Rusage
			require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &before))
			for range writers {
				done.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if err := propose(i); err != nil {
							b.Error(err)
						}
					}
				})
			}
			done.Wait()
			require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &after))
			spent := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
			b.ReportMetric(float64(spent)/float64(b.N)/1e3, "cpu-us/op")
		})
	}
}

// madeMembers returns a store of a namespace with so many members, the founder among them.
func madeMembers(b *testing.B, n int) (*Store, codec.GroupID) {
	s := newStore(b, 1)
	ns, _ := created(b, s)
	for i := range n - 1 {
		_, err := s.Propose(bg, ns, Proposal{GroupID: ns, Group: &codec.GroupOp{Kind: codec.OpMemberAdded, Member: idOf(fmt.Sprint("member ", i)), Role: codec.Member}})
		require.NoError(b, err)
	}
	return s, ns
}

// A rotation for 1,000 members; the bytes of its op are the metric op-bytes.
func BenchmarkRotationFor1000Members(b *testing.B) {
	s, ns := madeMembers(b, 1000)
	size := 0
	for b.Loop() {
		p, err := s.Rotate(bg, ns, true)
		require.NoError(b, err)
		size = len(p.Wire[0])
	}
	b.ReportMetric(float64(size), "op-bytes")
}

// A newcomer takes in a namespace with 1,000 rotations, under each of which something is
// sealed, and is sent the last key after all of them.
func BenchmarkNewcomerAfter1000Rotations(b *testing.B) {
	for _, members := range []int{10, 100} {
		b.Run(fmt.Sprint(members, " members"), func(b *testing.B) {
			z, ns := madeMembers(b, members)
			var first codec.OpID
			for i := range 1000 {
				_, err := z.Rotate(bg, ns, true)
				require.NoError(b, err)
				if p := proposed(b, z, ns, ns, call(fmt.Sprint("name ", i))); i == 0 {
					first = p.Answer.ID
				}
			}
			proposed(b, z, ns, ns, add("newcomer", codec.Member))
			var wires [][]byte
			for sent, err := range z.OpsSince(bg, ns, nil, 0) {
				require.NoError(b, err)
				wires = append(wires, sent.Wire)
			}
			for b.Loop() {
				s := newStore(b, 2)
				imported(b, s, ns, "newcomer")
				for a, err := range s.ApplyMany(bg, slices.Values(wires)) {
					require.NoError(b, err)
					require.Equal(b, Stored, a.Kind)
				}
				name, err := s.Op(ns, first)
				require.NoError(b, err)
				require.NotNil(b, name.Body, "it opens all")
			}
		})
	}
}
