package view

import (
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// The kinds of nodes in the graph of a namespace; kindMissing and kindDamaged are
// there too.
const (
	kindRoot   = "root"   // clear to all members
	kindGroup  = "group"  // of a group, and sealed
	kindOpaque = "opaque" // what is left of one whose payload was forgotten
)

// ops answers the graph of the newest ops of a namespace. More of it is asked for
// with a higher limit.
func (s *Server) ops(r *http.Request) (any, error) {
	id, err := idOf(r, "namespace")
	if err != nil {
		return nil, err
	}
	limit, err := limitOf(r, usualNodes, mostNodes)
	if err != nil {
		return nil, err
	}
	var g Graph
	err = s.store.with(func(src *inspect.Source) error {
		head, err := engine.Get(src, keys.NamespaceGovHead{Namespace: id})
		if err != nil {
			return err
		}
		nodes, more, err := opsBelow(src, id, head.DagHeads, limit)
		if g = Draw(nodes); more {
			g.More = "limit"
		}
		return err
	})
	return g, err
}

// opsBelow returns the ops from the heads down, nearest first, and whether there
// are more of them.
func opsBelow(r engine.Reader, ns codec.GroupID, heads []codec.OpID, limit int) (nodes []Node, more bool, err error) {
	seen := map[codec.OpID]bool{}
	queue := slices.Clone(heads)
	for len(queue) > 0 {
		id := queue[0]
		queue = queue[1:]
		if seen[id] {
			continue
		}
		if len(nodes) == limit {
			return nodes, true, nil
		}
		seen[id] = true
		n := Node{ID: id.String(), Parents: []string{}, Head: slices.Contains(heads, id)}
		row, err := engine.Get(r, keys.NamespaceGovOp{Namespace: ns, Delta: id})
		var op *namespace.Op
		if err == nil {
			op, err = namespace.ParseOp(row.SkeletonBytes)
		}
		switch {
		case errors.Is(err, engine.ErrNotFound):
			n.Kind, n.Label = kindMissing, kindMissing
		case errors.Is(err, engine.ErrCorrupt) || errors.Is(err, codec.ErrMalformed):
			n.Kind, n.Label = kindDamaged, err.Error()
		case err != nil:
			return nil, false, err
		default:
			n.describe(ns, op)
			queue = append(queue, op.Parents...)
		}
		nodes = append(nodes, n)
	}
	return nodes, false, nil
}

// describe says what an op is, as everyone sees it.
func (n *Node) describe(ns codec.GroupID, op *namespace.Op) {
	n.By, n.Column = op.Signer.String(), column.Group.String()
	if key, err := (keys.NamespaceGovOp{Namespace: ns, Delta: op.ID}).AppendBinary(nil); err == nil {
		n.At = hex.EncodeToString(key)
	}
	for _, p := range op.Parents {
		n.Parents = append(n.Parents, p.String())
	}
	switch {
	case op.Root != nil:
		n.Kind, n.Label = kindRoot, strings.ReplaceAll(op.Root.Kind.String(), "_", " ")
		if op.Root.CreatedAt > 0 && op.Root.CreatedAt < 1<<40 { // its author's words
			n.Time = time.Unix(int64(op.Root.CreatedAt), 0).UTC().Format(time.RFC3339)
		}
		return
	case op.Signed == nil:
		n.Kind, n.Label = kindOpaque, "forgotten op"
	default:
		n.Kind, n.Label = kindGroup, "sealed op"
	}
	n.Label += " of group " + op.GroupID.String()[:8]
	if len(op.Rotations) > 0 {
		n.Label += ", " + counted(len(op.Rotations), "rotation")
	}
}
