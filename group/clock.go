package group

// clock says of each chain of ops how many of it, from its beginning, are in a cut. It
// is a tree of which clocks share what they have in common: one that differs from
// another in one chain takes a few nodes.
type clock struct {
	depth int // of the root; a leaf has 0
	root  *clockNode
}

const (
	clockBits = 4
	clockFan  = 1 << clockBits
)

type clockNode struct {
	below *[clockFan]*clockNode
	ends  *[clockFan]uint32 // of a leaf
}

// get returns how many ops of a chain are in the cut.
func (c clock) get(chain uint32) uint32 {
	if chain>>(clockBits*(c.depth+1)) != 0 {
		return 0
	}
	n := c.root
	for d := c.depth; n != nil; d-- {
		at := chain >> (clockBits * d) % clockFan
		if n.ends != nil {
			return n.ends[at]
		}
		n = n.below[at]
	}
	return 0
}

// with returns the clock that differs from c in one chain.
func (c clock) with(chain, end uint32) clock {
	for chain>>(clockBits*(c.depth+1)) != 0 {
		c = c.deeper()
	}
	return clock{c.depth, c.root.with(c.depth, chain, end)}
}

func (c clock) deeper() clock {
	if c.root == nil {
		return clock{c.depth + 1, nil}
	}
	return clock{c.depth + 1, &clockNode{below: &[clockFan]*clockNode{c.root}}}
}

func (n *clockNode) with(depth int, chain, end uint32) *clockNode {
	at := chain >> (clockBits * depth) % clockFan
	if depth == 0 {
		var ends [clockFan]uint32
		if n != nil {
			ends = *n.ends
		}
		ends[at] = end
		return &clockNode{ends: &ends}
	}
	var below [clockFan]*clockNode
	if n != nil {
		below = *n.below
	}
	below[at] = below[at].with(depth-1, chain, end)
	return &clockNode{below: &below}
}

// join returns the clock of the ops that are in c or in o.
func (c clock) join(o clock) clock {
	for c.depth < o.depth {
		c = c.deeper()
	}
	for o.depth < c.depth {
		o = o.deeper()
	}
	return clock{c.depth, c.root.join(o.root)}
}

func (n *clockNode) join(o *clockNode) *clockNode {
	switch {
	case n == o || o == nil:
		return n
	case n == nil:
		return o
	case n.ends != nil:
		return n.joinLeaf(o)
	}
	below, mine, theirs := *n.below, true, true
	for i := range below {
		below[i] = below[i].join(o.below[i])
		mine = mine && below[i] == n.below[i]
		theirs = theirs && below[i] == o.below[i]
	}
	switch {
	case mine:
		return n
	case theirs:
		return o
	}
	return &clockNode{below: &below}
}

func (n *clockNode) joinLeaf(o *clockNode) *clockNode {
	ends := *n.ends
	for i, end := range o.ends {
		ends[i] = max(ends[i], end)
	}
	switch ends {
	case *n.ends:
		return n
	case *o.ends:
		return o
	}
	return &clockNode{ends: &ends}
}
