package view

import (
	"errors"
	"slices"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// opWalk gathers the ops of a namespace.
type opWalk struct {
	store     *inspect.Source
	rules     *governance
	namespace codec.GroupID
	heads     []codec.OpID
	named     map[string]string
	nodes     []Node
	seen      map[codec.OpID]bool
	broken    bool // ops may be there that none of those seen leads to
	gaps
}

// walk adds the ops from the heads down, nearest first, and behind damage all others. It
// reports whether there are more than limit.
func (w *opWalk) walk(limit int) (more bool, err error) {
	head, err := engine.Get(w.store, keys.NamespaceGovHead{Namespace: w.namespace})
	if errors.Is(err, engine.ErrCorrupt) {
		w.broken = true
		at := append([]byte{keys.NamespaceGovHead{}.Slot().Tag}, w.namespace[:]...)
		w.lose("value", column.Group, at, err)
		err = nil
	}
	if err != nil {
		return false, err
	}
	if w.named, err = w.rules.names(w.namespace); err != nil {
		return false, err
	}
	w.heads = head.DagHeads
	for queue := slices.Clone(w.heads); len(queue) > 0; queue = queue[1:] {
		id := queue[0]
		if w.seen[id] {
			continue
		}
		if len(w.nodes) == limit {
			return true, nil
		}
		w.seen[id] = true
		row, err := engine.Get(w.store, keys.NamespaceGovOp{Namespace: w.namespace, Delta: id})
		parents, err := w.put(id, row.SkeletonBytes, err)
		if err != nil {
			return false, err
		}
		queue = append(queue, parents...)
	}
	if !w.broken {
		return false, nil
	}
	return w.unreached(limit)
}

// unreached adds the ops that no other leads to.
func (w *opWalk) unreached(limit int) (more bool, err error) {
	prefix := append([]byte{keys.NamespaceGovOp{}.Slot().Tag}, w.namespace[:]...)
	it, err := w.store.AsIs(w.tell).Iterate(column.Group, engine.Prefixed(prefix))
	if err != nil {
		return false, err
	}
	defer func() { _ = it.Close() }() // what it has to say, Err has said
	for it.Next() {
		k, err := keys.NamespaceGovOp{}.Parse(it.Key())
		if err != nil {
			w.lose("key", column.Group, it.Key(), err)
			continue
		}
		if w.seen[k.Delta] {
			continue
		}
		if len(w.nodes) == limit {
			return true, nil
		}
		w.seen[k.Delta] = true
		row, err := codec.NamespaceGovOpValue{}.Decode(it.Value())
		if _, err := w.put(k.Delta, row.SkeletonBytes, err); err != nil {
			return false, err
		}
	}
	return false, it.Err()
}

// put adds an op of which the row is there, unless err says that it is not; it returns the
// op's parents.
func (w *opWalk) put(id codec.OpID, row []byte, err error) ([]codec.OpID, error) {
	n := Node{ID: id.String(), Parents: []string{}, Head: slices.Contains(w.heads, id)}
	var op *namespace.Op
	if err == nil {
		op, err = namespace.ParseOp(row)
	}
	var parents []codec.OpID
	switch {
	case errors.Is(err, engine.ErrNotFound):
		n.Kind, n.Label, w.broken = kindMissing, kindMissing, true
	case errors.Is(err, engine.ErrCorrupt) || errors.Is(err, codec.ErrMalformed):
		n.Kind, n.Label, w.broken = kindDamaged, err.Error(), true
	case err != nil:
		return nil, err
	default:
		n.describe(w.namespace, op)
		n.Name, parents = w.named[n.By], op.Parents
		if err := w.clear(&n, id); err != nil {
			return nil, err
		}
	}
	w.nodes = append(w.nodes, n)
	return parents, nil
}

// clear says what an op does and what became of it, as far as keys have opened it here.
func (w *opWalk) clear(n *Node, id codec.OpID) error {
	op, err := w.rules.ops.Op(w.namespace, id)
	if errors.Is(err, namespace.ErrNoNamespace) || errors.Is(err, namespace.ErrNoOp) || errors.Is(err, engine.ErrCorrupt) {
		return nil // it is not among those that were taken, or not legible: it stays as everyone sees it
	}
	if errors.Is(err, namespace.ErrRules) { // a newer build judges by other rules
		return w.tell(inspect.Finding{Code: "rules", Column: column.Group.String(), Key: w.namespace.String(), Reason: err.Error()})
	}
	if err != nil {
		return err
	}
	n.Verdict = op.Verdict.String()
	content, kind, err := contentOf(&op)
	if err != nil || content == nil {
		return err
	}
	of := ""
	if op.Body != nil {
		n.Kind, of = kindOpened, op.GroupID.String()
	}
	n.Label, err = brief(kind, of, content, w.named)
	return err
}
