package namespace_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

// delivery gives a node all ops of a history in an order of its own, some twice, with
// what is to be refused between them, and restarts.
type delivery struct {
	*witness
	random *rand.Rand
	told   map[codec.OpID]group.Verdict // as answers said
}

func (d *delivery) run(f *forge) {
	order := d.random.Perm(len(f.ops))
	if d.random.IntN(3) == 0 { // nearly as they were made
		for i := range order {
			order[i] = i
		}
		for range 3 {
			i := d.random.IntN(len(order))
			k := min(i+d.random.IntN(4), len(order)-1)
			order[i], order[k] = order[k], order[i]
		}
	}
	for n, i := range order {
		d.hear(d.give(f.ops[i]))
		switch d.random.IntN(12) {
		case 0:
			d.hear(d.give(f.ops[order[d.random.IntN(n+1)]])) // again
		case 1:
			d.restart()
		case 2:
			if len(f.refused) > 0 {
				d.giveBad(f.refused[d.random.IntN(len(f.refused))])
			}
		case 3:
			if len(f.refused) > 0 {
				d.orphan(f.refused[d.random.IntN(len(f.refused))])
			}
		case 4:
			if d.random.IntN(3) == 0 {
				d.check()
			}
		}
	}
	for _, bad := range f.refused {
		d.giveBad(bad)
	}
	require.Empty(d.t, d.waiting)
	count, size, err := d.store.Waiting(d.ns)
	require.NoError(d.t, err)
	require.Zero(d.t, count, "what waits for refused ops waits for ever")
	require.Zero(d.t, size)
}

// orphan gives the node an op that names one as its parent which is to be refused.
func (d *delivery) orphan(bad refused) {
	if !bytes.HasPrefix(bad.bytes[1:], d.ns[:]) {
		return // whoever offers it does not offer it to this namespace
	}
	domain := namespace.DomainOp
	if bad.bytes[0] == 2 {
		domain = "stoa.namespace.v2"
	}
	parent := sha256.Sum256(append([]byte(domain), bad.bytes...))
	s := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: d.ns, Parents: []codec.OpID{parent}, Nonce: 1, Op: codec.NamespaceOp{Root: codec.RootOp{Kind: codec.RootMerge}}}
	require.NoError(d.t, namespace.Sign(s, who("K")))
	b, err := s.AppendBinary(nil)
	require.NoError(d.t, err)
	answer, err := d.store.Apply(context.Background(), b)
	require.NoError(d.t, err)
	if answer.Kind != namespace.Pending { // the parent was here already
		require.Equal(d.t, namespace.Refused, answer.Kind)
		require.Equal(d.t, namespace.RefusedAncestor, answer.Refusal.Reason)
	}
}

// hear takes down verdicts as they are told.
func (d *delivery) hear(a namespace.Answer) {
	if a.Kind == namespace.Stored || a.Kind == namespace.Duplicate {
		d.told[a.ID] = a.Verdict
	}
	for _, c := range a.Cascade {
		d.hear(c)
	}
	for _, c := range a.Changed {
		d.told[c.Op] = c.New
	}
}

// Nodes that are given the same ops in any order, some ops again, with forgeries between
// them, and restarted at any time, have the rows of the definition; and those with the
// same keys the same.
func TestNodesConverge(t *testing.T) {
	base := opening(t)
	histories, seen := 0, map[group.Outcome]int{}
	refusals, equivocations := map[namespace.RefusalReason]int{}, 0
	enginetest.Check(t, 1000, func(t *rapid.T) {
		f := base.copy(t)
		f.play(t, 14)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var nodes []*delivery
		var results []*group.Result
		names := random.Perm(6)
		for _, i := range names[:3+random.IntN(12)/5] {
			d := &delivery{newWitness(t, f, cast[i], newMem()), random, map[codec.OpID]group.Verdict{}}
			d.run(f)
			results = append(results, d.check())
			require.Equal(t, results[len(results)-1].Verdicts, d.told, "what the answers said is not what is")
			nodes = append(nodes, d)
		}
		requireAgreement(t, nodes)
		for _, d := range nodes {
			d.close()
		}
		histories++
		equivocations += len(results[0].Equivocations)
		for _, v := range results[0].Verdicts {
			seen[v.Outcome]++
		}
		for _, bad := range f.refused {
			refusals[bad.reason]++
		}
	})
	t.Log(histories, "histories, outcomes", seen, "refusals", refusals, "equivocations", equivocations)
	if histories >= 1000 { // of fewer, some of these are rare
		for _, o := range []group.Outcome{group.Effective, group.Void, group.Skipped, group.Sealed} {
			require.Positive(t, seen[o], "the property says nothing about %s", o)
		}
		for _, r := range []namespace.RefusalReason{namespace.BadSignature, namespace.Replay, namespace.BadNonce, namespace.Stranger,
			namespace.UnknownGroup, namespace.UnknownKey} {
			require.Positive(t, refusals[r], "the property says nothing about %s", r)
		}
		require.Positive(t, equivocations)
	}
}

// requireAgreement demands that nodes with the same keys have the same Group column,
// with the exceptions that there are: the order of the log, and secrets and the next
// nonce, which are a node's own.
func requireAgreement(t require.TestingT, nodes []*delivery) {
	for i, a := range nodes {
		for _, b := range nodes[i+1:] {
			if !maps.Equal(a.ring(), b.ring()) {
				continue
			}
			x, _ := a.column()
			y, _ := b.column()
			for _, rows := range []map[string]string{x, y} {
				for key := range rows {
					if key[0] == 0x37 || key[0] == 0x39 {
						delete(rows, key)
					}
				}
			}
			require.True(t, maps.Equal(x, y), "%s and %s have the same keys and not the same rows", a.name, b.name)
		}
	}
}
