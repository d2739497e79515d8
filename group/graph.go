package group

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
)

// ErrIncomplete is returned for a set of ops in which a parent is missing, or that
// has not exactly one creating op.
var ErrIncomplete = errors.New("group: incomplete set of ops")

// graph is a set of ops with its causal order. Ops are known by their place in the
// order by (height, id), so that comparing places compares those.
type graph struct {
	ops       []*Op
	ancestors []opSet // of each op
}

// opSet is a set of ops, one bit each.
type opSet []uint64

func (s opSet) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }
func (s opSet) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s opSet) addAll(o opSet) {
	for i := range o {
		s[i] |= o[i]
	}
}

// newGraph orders ops, of which doubles count once.
func newGraph(ops []Op) (*graph, error) {
	byID := map[codec.OpID]*Op{}
	for i := range ops {
		byID[ops[i].ID] = &ops[i]
	}
	heights := map[codec.OpID]int{}
	for id := range byID {
		if err := findHeight(byID, heights, id); err != nil {
			return nil, err
		}
	}
	g := &graph{}
	for _, op := range byID {
		g.ops = append(g.ops, op)
	}
	slices.SortFunc(g.ops, func(a, b *Op) int {
		return cmp.Or(cmp.Compare(heights[a.ID], heights[b.ID]), bytes.Compare(a.ID[:], b.ID[:]))
	})
	at := map[codec.OpID]int{}
	for i, op := range g.ops {
		at[op.ID] = i
		above := make(opSet, (len(g.ops)+63)/64)
		for _, p := range op.Parents {
			above.add(at[p])
			above.addAll(g.ancestors[at[p]])
		}
		g.ancestors = append(g.ancestors, above)
	}
	if len(g.ops) == 0 || !g.creating(0) || slices.ContainsFunc(g.ops[1:], func(op *Op) bool { return len(op.Parents) == 0 }) {
		return nil, fmt.Errorf("%w: one op without parents, and that creates the namespace, is needed", ErrIncomplete)
	}
	return g, nil
}

// findHeight notes the height of id and of all its ancestors, without recursion: a
// history may be long.
func findHeight(byID map[codec.OpID]*Op, heights map[codec.OpID]int, id codec.OpID) error {
	for stack := []codec.OpID{id}; len(stack) > 0; {
		top := stack[len(stack)-1]
		op, ok := byID[top]
		if !ok {
			return fmt.Errorf("%w: no op %s, which another has as its parent", ErrIncomplete, top)
		}
		height, ready := 0, true
		for _, p := range op.Parents {
			h, known := heights[p]
			if !known {
				stack, ready = append(stack, p), false
			}
			height = max(height, h+1)
		}
		if ready {
			heights[top] = height
			stack = stack[:len(stack)-1]
		} else if len(stack) > 64*(len(byID)+1) {
			return fmt.Errorf("%w: op %s is its own ancestor", ErrIncomplete, top)
		}
	}
	return nil
}

func (g *graph) creating(i int) bool {
	op := g.ops[i]
	return len(op.Parents) == 0 && op.Root != nil && op.Root.Kind == codec.RootNamespaceCreated
}

// follows reports whether op x descends from op a.
func (g *graph) follows(x, a int) bool { return g.ancestors[x].has(a) }

// before reports whether op a is before op b by (height, id).
func (g *graph) before(a, b int) bool { return a < b }
