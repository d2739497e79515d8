package exchange

import (
	"encoding/binary"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/codec/cutter"
)

// contextItem is the bytes of an item that says what a side has of a context: its id, and the digest of
// its heads.
const contextItem = 32 + 16

// maxDiffering is how many contexts are exchanged in a session; the others are in the next.
const maxDiffering = 1 << 16

// readable finds out what the peer may read of a namespace, and what it may give.
func (s *session) readable(n *shared) error {
	n.contexts, n.groups, n.takes = map[codec.ContextID]codec.Hash{}, nil, map[codec.ContextID]bool{}
	var groups []codec.GroupID
	if !s.o.Anyone && n.proven {
		var err error
		if groups, err = s.Governance.MemberOf(n.id, n.peer); err != nil {
			return err
		}
	}
	return s.eachContext(n.id, func(g codec.GroupID, c codec.ContextID, digest codec.Hash) {
		n.takes[c] = true
		if s.o.Anyone || slices.Contains(groups, g) {
			n.contexts[c] = digest
			if !slices.Contains(n.groups, g) {
				n.groups = append(n.groups, g)
			}
		}
	})
}

// contextSet returns what this side has of the contexts that the peer may read, as items.
func (n *shared) contextSet() set {
	var items [][]byte
	for id, digest := range n.contexts {
		if !digest.IsZero() {
			items = append(items, append(id[:], digest[:contextItem-len(id)]...))
		}
	}
	slices.SortFunc(items, slices.Compare)
	return setOf(items)
}

// compare finds out in which contexts of namespaces the two differ.
func (s *session) compare() error {
	var open []*shared
	for _, n := range s.common {
		if n.same {
			continue
		}
		if err := s.Content.LookAll(s.ctx, n.id); err != nil {
			return err // by ops of this session, or of a call before it that nothing has looked at yet
		}
		if err := s.readable(n); err != nil {
			return err
		}
		open = append(open, n)
	}
	sets := make([]set, len(open))
	for i, n := range open {
		sets[i] = n.contextSet()
	}
	all, err := s.reconcile(sets, contextItem)
	if err != nil {
		return err
	}
	for i, n := range open {
		var ids []codec.ContextID
		for _, item := range slices.Concat(all[i].mine, all[i].theirs) {
			ids = append(ids, codec.ContextID(item[:32]))
		}
		slices.SortFunc(ids, codec.CompareID)
		for _, id := range slices.Compact(ids) {
			if _, reads := n.contexts[id]; n.takes[id] && len(s.differing) < maxDiffering {
				s.differing = append(s.differing, &difference{of: n, id: id, takes: !reads, report: ContextReport{ID: id}})
			}
		}
	}
	return nil
}

// reconcile finds out in what sets of both sides differ: those of this side, by their place.
func (s *session) reconcile(sets []set, itemLen int) ([]found, error) {
	all := make([]found, len(sets))
	out := make(map[int][]span, len(sets))
	if s.o.Initiator {
		for i, set := range sets {
			var err error
			if out[i], err = set.opening(); err != nil {
				return nil, err
			}
		}
	}
	for pass := 0; ; pass++ {
		mine := s.o.Initiator == (pass%2 == 0)
		if pass == maxPasses {
			return nil, malformed("in what the two differ is not clear after %d messages", pass)
		}
		said, next := 0, map[int][]span{}
		err := s.turn(func(put func(kind, []byte) error) error {
			if !mine {
				return nil
			}
			for i := range sets {
				if len(out[i]) == 0 {
					continue
				}
				if err := put(kindRanges, appendSpans(binary.LittleEndian.AppendUint32(nil, uint32(i)), out[i])); err != nil {
					return err
				}
			}
			return nil
		}, func(_ kind, body []byte) error {
			c := cutter.New("ranges", body)
			i := int(c.U32("set"))
			if c.Err != nil {
				return ended(&c)
			}
			if mine || i >= len(sets) || next[i] != nil {
				return malformed("ranges of set %d, of %d, or out of turn", i, len(sets))
			}
			spans, err := spansOf(c.Rest, itemLen)
			if err != nil {
				return err
			}
			said++
			answer, goes, err := sets[i].answer(spans, &all[i])
			if err != nil {
				return err
			}
			if next[i] = []span{}; goes {
				next[i] = answer
			}
			return nil
		}, kindRanges)
		if err != nil {
			return nil, err
		}
		if mine {
			for _, spans := range out {
				said += min(len(spans), 1)
			}
		}
		if said == 0 {
			return all, nil
		}
		out = next
	}
}
