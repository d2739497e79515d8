package exchange_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/content/contenttest"
	"github.com/stoadb/stoa/namespace/envelope"
)

// heal has the network be whole, clocks be right, and honest nodes have sessions. It returns those of
// members.
func (s *sim) heal() (present []*simNode) {
	s.apart = nil
	time.Sleep(2 * time.Hour)
	first := s.nodes[0]
	var honest []*simNode
	for _, n := range s.nodes {
		n.skew = 0
		if !n.twin {
			honest = append(honest, n)
		}
	}
	s.settle(honest)
	for _, g := range s.homes[1:] { // who lacks a key is sent it
		_, err := first.Governance.Rotate(bg, g, false)
		requireAmong(s.t, err, namespace.ErrNotDue)
	}
	s.settle(honest)
	for _, n := range honest {
		if s.isMember(first, s.ns, n) {
			present = append(present, n)
		}
	}
	return present
}

// settle has the first of the nodes have sessions with the others: until no op comes any more, of which
// one may wait here for what another has, and that for what a third has, and once more for deltas.
func (s *sim) settle(honest []*simNode) {
	for round, more := 0, 1; more >= 0; round++ {
		require.Less(s.t, round, 100, "ops are sent without end")
		more--
		for _, n := range honest[1:] {
			both := meet(s.t, honest[0].node, n.node, takingBlobs)
			require.NoError(s.t, errors.Join(both.errA, both.errB))
			for _, r := range slices.Concat(both.a.Namespaces, both.b.Namespaces) {
				if r.Stored > 0 {
					more = 1
				}
			}
		}
	}
}

// check demands that members have the same, which is that of the definition.
func (s *sim) check(present []*simNode) {
	first := present[0]
	for _, n := range present[1:] {
		both := meet(s.t, first.node, n.node)
		require.NoError(s.t, errors.Join(both.errA, both.errB))
		for _, r := range both.a.Namespaces {
			require.True(s.t, r.Level, n.name)
			for _, c := range r.Contexts {
				g := s.homes[slices.IndexFunc([]int{0, 1, 2}, func(i int) bool { return contextOf(i) == c.ID })]
				require.False(s.t, s.isMember(first, g, n), "%s: there is something left to say: %+v", n.name, c)
			}
		}
	}
	byKeys := map[string]*simNode{}
	for _, n := range present {
		known := fmt.Sprint(s.keysOf(n))
		if byKeys[known] == nil {
			byKeys[known] = n
		}
		require.Equal(s.t, s.shared(byKeys[known]), s.shared(n), "%s, %s", byKeys[known].name, n.name)
	}
	for c, g := range s.homes {
		all := map[codec.EnvelopeID]*envelope.Envelope{}
		var readers []*simNode
		for _, n := range present {
			if s.isMember(n, g, n) {
				readers = append(readers, n)
				maps.Copy(all, s.envelopes(n, c))
			}
		}
		want := contenttest.Naive(s.t, first.Governance, s.ns, contextOf(c), all)
		s.seen.aside += len(all) - len(want)
		for _, n := range readers {
			require.Equal(s.t, want, s.counting(n, c), "%s, context %d", n.name, c)
			require.Equal(s.t, s.rows(readers[0], c), s.rows(n, c), "%s, context %d", n.name, c)
		}
		s.checkBlobs(readers, contextOf(c))
	}
}

// checkBlobs demands that of the blobs that a context names its readers have the same: all that one of
// them has.
func (s *sim) checkBlobs(readers []*simNode, c codec.ContextID) {
	for _, n := range readers {
		for _, id := range n.attached(c) {
			has := slices.IndexFunc(readers, func(other *simNode) bool { return other.hasBlob(id) })
			if has < 0 {
				continue // who had it went back to a copy
			}
			s.seen.blobs++
			require.True(s.t, n.hasBlob(id), "%s lacks %s of context %s, which %s has", n.name, id, c, readers[has].name)
		}
	}
}

// shared are the rows of governance that nodes with the same keys have alike: not the log, which has its
// own order.
func (s *sim) shared(n *simNode) map[string]string {
	all := map[string]string{}
	for k, v := range simRows(s.t, n.db) {
		if column.Column(k[0]) != column.Group || slices.Contains(ownRows, k[1]) {
			continue
		}
		if k[1] == headRow {
			v = v[8:] // behind how many ops this node has made
		}
		all[k] = v
	}
	return all
}

// keysOf are the keys that a node has.
func (s *sim) keysOf(n *simNode) (all []string) {
	for k := range simRows(s.t, n.db) {
		if column.Column(k[0]) == column.Group && k[1] == ownRows[0] {
			all = append(all, k)
		}
	}
	slices.Sort(all)
	return all
}

// ownRows are the prefixes of rows that differ from node to node.
var ownRows = []byte{
	keys.Prefix[keys.GroupKeyEntry]{}.AppendTo(nil)[0],
	keys.Prefix[keys.GroupOpLog]{}.AppendTo(nil)[0],
	keys.Prefix[keys.NamespaceIdentity]{}.AppendTo(nil)[0],
}

var headRow = keys.Prefix[keys.NamespaceGovHead]{}.AppendTo(nil)[0]

// envelopes are those that a node has of a context.
func (s *sim) envelopes(n *simNode, c int) map[codec.EnvelopeID]*envelope.Envelope {
	all := map[codec.EnvelopeID]*envelope.Envelope{}
	for id := range s.counting(n, c) {
		all[id] = s.envelope(n, c, id)
	}
	held, err := n.Content.Held(bg, contextOf(c))
	require.NoError(s.t, err)
	for _, h := range held {
		all[h.ID] = s.envelope(n, c, h.ID)
	}
	return all
}

func (s *sim) envelope(n *simNode, c int, id codec.EnvelopeID) *envelope.Envelope {
	b, err := n.Content.Envelope(bg, contextOf(c), id)
	require.NoError(s.t, err)
	e, err := envelope.Parse(b)
	require.NoError(s.t, err)
	return e
}

func (s *sim) counting(n *simNode, c int) map[codec.EnvelopeID]bool {
	all := map[codec.EnvelopeID]bool{}
	for id, err := range n.Content.IDs(contextOf(c), codec.EnvelopeID{}) {
		require.NoError(s.t, err)
		all[id] = true
	}
	return all
}

// rows are what readers of a context have of it; none of one all of whose deltas were set aside.
func (s *sim) rows(n *simNode, c int) map[string]string {
	all, id := map[string]string{}, contextOf(c)
	if len(s.counting(n, c)) == 0 {
		return all
	}
	for k, v := range simRows(s.t, n.db) {
		col := column.Column(k[0])
		if (col == column.State || col == column.Meta || col == column.Delta) && bytes.HasPrefix([]byte(k[1:]), id[:]) {
			all[k] = v
		}
	}
	return all
}

// given returns the ops that give somebody a key.
func (s *sim) given(by *simNode, to codec.Identity) (ops []codec.OpID) {
	for sent, err := range by.Governance.OpsSince(bg, s.ns, nil, 0) {
		require.NoError(s.t, err)
		op, err := codec.SignedNamespaceOp{}.Decode(sent.Wire)
		require.NoError(s.t, err)
		all := op.Op.Root.Envelopes
		for _, k := range op.Op.Keys {
			all = append(all, k.Envelopes...)
		}
		if slices.ContainsFunc(all, func(e codec.KeyEnvelope) bool { return e.Recipient == to }) {
			ops = append(ops, sent.ID)
		}
	}
	return ops
}

// hide demands that whoever is no member, and gets every byte, can't read what was written by who knew
// of it, and of all that had given that one a key.
func (s *sim) hide(present []*simNode) {
	first, values := present[0], map[int]string{}
	for c := range s.homes {
		values[c] = s.valuesOf(first, c)
	}
	for _, n := range append(slices.Clone(s.nodes), s.stranger) {
		if slices.Contains(present, n) {
			continue
		}
		n.skew = 0
		s.tell(first, n)
		for c := range s.homes {
			for b, err := range first.Content.Since(bg, contextOf(c), nil) {
				require.NoError(s.t, err)
				_, err = n.Content.Offer(bg, contextOf(c), [][]byte{b})
				requireAmong(s.t, err, namespace.ErrNoContext)
			}
		}
		var rows []byte
		for _, v := range simRows(s.t, n.db) {
			rows = append(rows, v...)
		}
		given := s.given(n, idOf(n.name)) // also by an Admin who has forgotten it since
		for _, w := range s.written {
			if !slices.Contains(w.away, n.name) || !strings.Contains(values[w.context], w.value) {
				continue
			}
			knew, err := n.Governance.Includes(s.ns, w.cut, given)
			require.NoError(s.t, err)
			if knew {
				s.seen.hidden++
				require.False(s.t, bytes.Contains(rows, []byte(w.value)), "%s reads %s of context %d", n.name, w.value, w.context)
			}
		}
	}
}

// valuesOf are all bytes that a node has of a context.
func (s *sim) valuesOf(n *simNode, c int) (all string) {
	for _, v := range s.rows(n, c) {
		all += v
	}
	return all
}
