package view

import "slices"

// Node is a node of a graph that has no cycles, as it is drawn.
type Node struct {
	ID      string   `json:"id"`
	Parents []string `json:"parents"`
	Kind    string   `json:"kind"`           // what it is coloured by
	Head    bool     `json:"head,omitempty"` // no other is upon it
	Label   string   `json:"label"`          // what it does, in few words
	By      string   `json:"by,omitempty"`   // whose it is
	Name    string   `json:"name,omitempty"` // of whose it is
	Verdict string   `json:"verdict,omitempty"`
	Time    string   `json:"time,omitempty"` // RFC 3339; empty: it has none
	Column  string   `json:"column,omitempty"`
	At      string   `json:"at,omitempty"` // the key of its row in the column, in hex

	Row  int `json:"row"`  // from the top: every node is above its parents
	Lane int `json:"lane"` // from the left
}

// Edge leads from a node to one of its parents: down along a lane of its own.
type Edge struct {
	From int `json:"from"` // index of the child
	To   int `json:"to"`   // index of the parent; -1: it is not in the graph
	Lane int `json:"lane"`
}

// Graph is a graph with the places of its nodes.
type Graph struct {
	Nodes []Node `json:"nodes"` // by row
	Edges []Edge `json:"edges"`
	Lanes int    `json:"lanes"`          // how many there are
	More  string `json:"more,omitempty"` // what to ask for, for older nodes; empty: there are none
	gaps
}

// Draw places nodes: each above its parents, and those that nothing orders as they
// are given, so newer ones should come first. Nodes of a cycle, which only damage
// makes, come last. It takes the nodes over.
func Draw(nodes []Node) Graph {
	g := Graph{Nodes: sorted(nodes), Edges: []Edge{}}
	index := make(map[string]int, len(g.Nodes))
	for i := range g.Nodes {
		index[g.Nodes[i].ID] = i
	}
	var lanes lanes
	for i := range g.Nodes {
		n := &g.Nodes[i]
		n.Row, n.Lane = i, lanes.take(i)
		for _, parent := range n.Parents {
			to, known := index[parent]
			if !known || to <= i { // beyond the graph, or a cycle
				g.Edges = append(g.Edges, Edge{From: i, To: -1, Lane: n.Lane})
				continue
			}
			g.Edges = append(g.Edges, Edge{From: i, To: to, Lane: lanes.toward(to, n.Lane)})
		}
	}
	g.Lanes = len(lanes)
	return g
}

// sorted returns the nodes so that each comes before its parents, and else in the
// order given.
func sorted(nodes []Node) []Node {
	index := make(map[string]int, len(nodes))
	for i := range nodes {
		index[nodes[i].ID] = i
	}
	children := make([]int, len(nodes)) // how many are not placed yet
	for i := range nodes {
		for _, parent := range nodes[i].Parents {
			if p, ok := index[parent]; ok {
				children[p]++
			}
		}
	}
	var ready []int // that may come next, the first given last
	for i := range slices.Backward(nodes) {
		if children[i] == 0 {
			ready = append(ready, i)
		}
	}
	out, placed := make([]Node, 0, len(nodes)), make([]bool, len(nodes))
	for len(ready) > 0 {
		i := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		out, placed[i] = append(out, nodes[i]), true
		for _, parent := range nodes[i].Parents {
			p, ok := index[parent]
			if !ok {
				continue
			}
			if children[p]--; children[p] == 0 {
				at, _ := slices.BinarySearchFunc(ready, p, func(a, b int) int { return b - a })
				ready = slices.Insert(ready, at, p)
			}
		}
	}
	for i := range nodes {
		if !placed[i] {
			out = append(out, nodes[i])
		}
	}
	return out
}

// free marks a lane that leads nowhere.
const free = -1

// lanes are the nodes that each lane leads to, while rows are filled from the top.
type lanes []int

// take returns the lane of a node: the leftmost that leads to it, else one that is
// free. All that lead to it end there.
func (l *lanes) take(node int) int {
	at := slices.Index(*l, node)
	if at < 0 {
		at = l.vacant(0)
	}
	for i, to := range *l {
		if to == node {
			(*l)[i] = free
		}
	}
	return at
}

// toward returns a lane from a node in lane from to the node to: one that leads
// there, else the one it is in, if that is free, else another.
func (l *lanes) toward(to, from int) int {
	at := slices.Index(*l, to)
	if at < 0 {
		at = l.vacant(from)
	}
	(*l)[at] = to
	return at
}

// vacant returns a free lane: first, if that is one, else the leftmost, else a
// new one.
func (l *lanes) vacant(first int) int {
	if first < len(*l) && (*l)[first] == free {
		return first
	}
	at := slices.Index(*l, free)
	if at < 0 {
		at, *l = len(*l), append(*l, free)
	}
	return at
}
