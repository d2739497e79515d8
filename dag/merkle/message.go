package merkle

import (
	"fmt"

	"github.com/stoadb/stoa/codec"
)

// Limits of the messages of a comparison.
const (
	MaxNodes  = 64                                // nodes that a request asks for
	maxLeaves = rootBucket                        // leaves that stand for a node
	MaxAnswer = 4 + MaxNodes*(2+64*(maxLeaves+1)) // more than the bytes of any answer
)

const messageVersion = 1

// NodeRequest asks for nodes of a trie, each by the prefix below which it is the
// topmost.
type NodeRequest struct {
	Root     codec.Hash // of the trie that is meant
	Prefixes []Prefix   // 1 to MaxNodes, in ascending order, none twice
}

// NodeAnswer has what was asked for, in the order of the prefixes. What is in it
// is proved by the hashes that whoever asked has of the nodes.
type NodeAnswer struct {
	nodes []answerNode
}

// answerNode is a node below a prefix, as itself, or, where there are few, as
// all leaves below it; none if leaves is empty and branch not set.
type answerNode struct {
	branch node // kind nodeBranch, else not set
	leaves []Leaf
}

// The tags of nodes in an answer.
const (
	tagNone   = 0
	tagLeaves = 1 // count u8, then key 32 ‖ value 32 of each, by key
	tagBranch = 2 // depth u8 ‖ prefix ‖ children u16 LE ‖ hashes
)

// AppendBinary appends the bytes of r; README.md has the format. It fails, with
// codec.ErrMalformed, if the prefixes are not as they should be.
func (r *NodeRequest) AppendBinary(dst []byte) ([]byte, error) {
	if fault := r.fault(); fault != "" {
		return dst, &codec.Error{Type: "NodeRequest", Field: "prefixes", Offset: -1, Reason: fault}
	}
	dst = append(append(dst, messageVersion), r.Root[:]...)
	dst = append(dst, byte(len(r.Prefixes)))
	for i := range r.Prefixes {
		p := &r.Prefixes[i]
		dst = append(append(dst, p.n), p.bits[:(p.n+1)/2]...)
	}
	return dst, nil
}

// ParseNodeRequest returns the request whose bytes are exactly b; else an error
// that is codec.ErrMalformed. It keeps nothing of b.
func ParseNodeRequest(b []byte) (*NodeRequest, error) {
	c := cutNodes("NodeRequest", b)
	c.Version(messageVersion)
	r := &NodeRequest{Root: c.Hash("root")}
	n := int(c.U8("prefixes"))
	for i := 0; i < n && c.Err == nil; i++ {
		r.Prefixes = append(r.Prefixes, c.prefix(int(c.U8("prefix"))))
	}
	if fault := r.fault(); c.Err == nil && fault != "" {
		c.Fail("prefixes", fault)
	}
	if err := c.End(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *NodeRequest) fault() string {
	if n := len(r.Prefixes); n == 0 || n > MaxNodes {
		return fmt.Sprintf("%d prefixes, not 1 to %d", n, MaxNodes)
	}
	for i := 1; i < len(r.Prefixes); i++ {
		if r.Prefixes[i-1].compare(r.Prefixes[i]) >= 0 {
			return fmt.Sprintf("prefix %d out of order", i)
		}
	}
	return ""
}

// AppendBinary appends the bytes of a; README.md has the format. It never fails.
func (a *NodeAnswer) AppendBinary(dst []byte) ([]byte, error) {
	dst = append(dst, messageVersion, byte(len(a.nodes)))
	for i := range a.nodes {
		switch n := &a.nodes[i]; {
		case n.branch.kind == nodeBranch:
			dst = n.branch.appendBranch(append(dst, tagBranch))
		case len(n.leaves) > 0:
			dst = append(dst, tagLeaves, byte(len(n.leaves)))
			for j := range n.leaves {
				dst = append(append(dst, n.leaves[j].Key[:]...), n.leaves[j].Value[:]...)
			}
		default:
			dst = append(dst, tagNone)
		}
	}
	return dst, nil
}

// ParseNodeAnswer returns the answer whose bytes are exactly b; else an error
// that is codec.ErrMalformed. It keeps nothing of b.
func ParseNodeAnswer(b []byte) (*NodeAnswer, error) {
	c := cutNodes("NodeAnswer", b)
	c.Version(messageVersion)
	n := int(c.U8("nodes"))
	if n == 0 || n > MaxNodes {
		c.Fail("nodes", fmt.Sprintf("%d, not 1 to %d", n, MaxNodes))
	}
	a := new(NodeAnswer)
	for i := 0; i < n && c.Err == nil; i++ {
		a.nodes = append(a.nodes, c.node())
	}
	if err := c.End(); err != nil {
		return nil, err
	}
	return a, nil
}

func (c *nodeCutter) node() (n answerNode) {
	switch c.U8("node") {
	case tagNone:
	case tagLeaves:
		n.leaves = c.leaves()
	case tagBranch:
		n.branch = c.branch()
	default:
		c.Fail("node", "unknown tag")
	}
	return n
}

func (c *nodeCutter) leaves() []Leaf {
	n := int(c.U8("leaves"))
	if n == 0 || n > maxLeaves {
		c.Fail("leaves", fmt.Sprintf("%d, not 1 to %d", n, maxLeaves))
	}
	b := c.Take("leaves", 64*n)
	if b == nil {
		return nil
	}
	leaves := make([]Leaf, n)
	for i := range leaves {
		leaves[i] = Leaf{Key: codec.Hash(b[64*i:]), Value: codec.Hash(b[64*i+32:])}
		if i > 0 && string(leaves[i-1].Key[:]) >= string(leaves[i].Key[:]) {
			c.Fail("leaves", fmt.Sprintf("leaf %d out of order", i))
		}
	}
	return leaves
}

// hash returns the hash of the node; zero of none.
func (n *answerNode) hash() codec.Hash {
	switch {
	case n.branch.kind == nodeBranch:
		return n.branch.branchHash()
	case len(n.leaves) == 0:
		return codec.Hash{}
	}
	return hashLeaves(n.leaves)
}

// within reports whether all keys of the node begin with p.
func (n *answerNode) within(p Prefix) bool {
	if n.branch.kind == nodeBranch {
		return n.branch.depth >= p.Len() && p.Covers(n.branch.key)
	}
	// Leaves are sorted: what the first and the last begin with all do.
	return len(n.leaves) == 0 || p.Covers(n.leaves[0].Key) && p.Covers(n.leaves[len(n.leaves)-1].Key)
}
