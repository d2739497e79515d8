package content_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/envelope"
)

// step has something happen.
func (w *world) step() {
	w.now = w.now.Add(time.Duration(w.random.IntN(2000)) * time.Millisecond)
	a, b := w.nodes[w.random.IntN(len(w.nodes))], w.nodes[w.random.IntN(len(w.nodes))]
	switch w.random.IntN(13) {
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
	case 11:
		w.hostile(a)
	default:
		a.restart()
	}
}

// place is where a person could write once.
type place struct {
	name string
	at   envelope.Place
	key  codec.Secret
}

// hostile has who could write at a place once write there again, on top of what a node has.
func (w *world) hostile(n *node) {
	if by, err := n.gov.Author(bg, w.ns, w.context); err == nil {
		w.places = append(w.places, place{n.name, envelope.Place{Cut: by.Cut, KeyOp: by.KeyOp}, by.Key})
	}
	heads, err := n.content.Heads(bg, w.context)
	require.NoError(w.t, err)
	if len(heads) > 1 || len(w.places) == 0 {
		return
	}
	p := w.places[w.random.IntN(len(w.places))]
	n.take(n.forge(p.name, p.at, p.key, nil))
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
			if _, err := w.nodes[0].gov.Rotate(bg, w.ns, false); !errors.Is(err, namespace.ErrNotDue) { // who lacks a key is sent it
				require.NoError(t, err)
			}
			w.heal(present...)
			for _, n := range present {
				require.Equal(t, w.naive(present...), counting(n.envelopes()), "seed %d, %s", seed, n.name)
				require.Equal(t, present[0].rows(), n.rows(), "seed %d, %s", seed, n.name)
				requireSound(t, n)
				require.Zero(t, n.verify())
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

// requireSound demands that a replay of what counts finds nothing.
func requireSound(t *testing.T, n *node) {
	report, err := n.dag.Verify(bg, n.w.context, dag.VerifyOptions{Scratch: func() (engine.Engine, func() error, error) {
		e := mem.New()
		return e, e.Close, nil
	}})
	require.NoError(t, err)
	require.Empty(t, report.Findings)
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
