package content_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/enginetest"
)

// step has something happen.
func (w *world) step() {
	w.now = w.now.Add(time.Duration(w.random.IntN(2000)) * time.Millisecond)
	a, b := w.nodes[w.random.IntN(len(w.nodes))], w.nodes[w.random.IntN(len(w.nodes))]
	switch w.random.IntN(12) {
	case 0, 1, 2, 3:
		a.commit(put(fmt.Sprint(w.random.IntN(3)), fmt.Sprint(w.now.UnixMilli(), a.name)))
	case 4:
		w.act()
	case 5, 6:
		if !a.frozen() && !b.frozen() {
			a.govern(b, w.random.IntN(4))
		}
	case 7, 8, 9, 10:
		all := a.lacking(b)
		if w.random.IntN(3) == 0 {
			w.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		}
		for _, e := range all {
			if w.random.IntN(4) > 0 {
				a.offer(b, e, w.random.IntN(3))
			}
		}
	default:
		a.restart()
	}
}

// frozen are nodes that hear of no ops: of those who go on as if nothing had happened.
func (n *node) frozen() bool { return slices.Index(n.w.nodes, n) >= people }

const people = 5

// act has an Admin change who may do what.
func (w *world) act() {
	by := w.nodes[w.random.IntN(2)]
	op := codec.GroupOp{Member: idOf([]string{"L", "M", "N"}[w.random.IntN(3)])}
	switch w.random.IntN(5) {
	case 0, 1:
		op.Kind = codec.OpMemberRemoved
	case 2, 3:
		op.Kind, op.Role = codec.OpMemberAdded, codec.Member
	default:
		op.Kind, op.Role = codec.OpMemberRoleSet, []codec.GroupMemberRole{codec.Member, codec.ReadOnly, codec.Admin}[w.random.IntN(3)]
	}
	by.propose(op)
}

// Whatever comes to whom in whatever order, nodes of who is a member in the end have the same state,
// which is that of the definition; and so do they after more.
func TestNodesConverge(t *testing.T) {
	histories := enginetest.Scale(200)
	aside, closed := 0, 0
	for seed := range histories {
		func() {
			w := newWorld(t, uint64(seed), "Z", "K", "L", "M", "N")
			defer w.close()
			w.nodes[0].propose(codec.GroupOp{Kind: codec.OpMemberRoleSet, Member: idOf("K"), Role: codec.Admin})
			w.heal(w.nodes...)
			for _, name := range []string{"L", "M"} {
				n := w.join(name)
				n.follow()
				w.nodes[0].govern(n, -1)
			}
			for range 40 {
				w.step()
			}
			present := w.present()
			w.heal(present...)
			for _, n := range present {
				require.Equal(t, w.naive(present...), counting(n.envelopes()), "seed %d, %s", seed, n.name)
				require.Equal(t, present[0].rows(), n.rows(), "seed %d, %s", seed, n.name)
			}
			for _, counts := range present[0].envelopes() {
				if closed++; !counts {
					aside++
				}
			}
		}()
	}
	t.Log(histories, "histories,", closed, "envelopes,", aside, "set aside")
	if histories >= 100 {
		require.Positive(t, aside)
	}
}

// present are the nodes of members that hear of everything.
func (w *world) present() (list []*node) {
	for range 2 {
		for _, a := range w.nodes[:people] {
			for _, b := range w.nodes[:people] {
				a.govern(b, -1)
			}
		}
	}
	members, err := w.nodes[0].gov.Members(w.ns, codec.Identity{}, 0)
	require.NoError(w.t, err)
	for i, n := range w.nodes[:people] {
		for _, m := range members {
			if i == 0 || m.Identity == idOf(n.name) {
				list = append(list, n)
				break
			}
		}
	}
	return list
}
