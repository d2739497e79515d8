package view

import (
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// The kinds of nodes in the graph of a namespace; kindMissing and kindDamaged are
// there too.
const (
	kindRoot   = "root"   // clear to all members
	kindGroup  = "group"  // of a group, and sealed
	kindOpened = "opened" // of a group, and in clear by a key that is here
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
	err = s.store.governed(func(src *inspect.Source, rules *governance) error {
		w := opWalk{store: src, rules: rules, namespace: id, seen: map[codec.OpID]bool{}}
		more, err := w.walk(limit)
		if g = Draw(w.nodes); more {
			g.More = "limit"
		}
		g.gaps = w.gaps
		g.add(rules.gaps())
		return err
	})
	return g, err
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
		n.Time = stamp(op.Root.CreatedAt)
		return
	case op.Signed == nil:
		n.Kind, n.Label = kindOpaque, "forgotten op"
	case op.Clear != nil:
		n.Kind, n.Label = kindOpened, strings.ReplaceAll(op.Clear.Kind.String(), "_", " ")
	default:
		n.Kind, n.Label = kindGroup, "sealed op"
	}
	n.Label += " of group " + op.GroupID.String()[:8]
	if len(op.Rotations) > 0 {
		n.Label += ", " + counted(len(op.Rotations), "rotation")
	}
	if len(op.Keys) > 0 {
		n.Label += ", " + counted(len(op.Keys), "new key")
	}
}
