package inspect

import (
	"encoding/binary"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
)

// opLog checks that the op log of every group has no gaps, and ends where the
// group's head says.
type opLog struct {
	v     *verifier
	group codec.GroupID
	open  bool   // a group's log has begun
	last  uint64 // of it
}

func checkOpLog(v *verifier) check { return &opLog{v: v} }

func (o *opLog) row(r row) error {
	switch r.info.Name {
	case "GroupOpLog":
		return o.entry(r)
	case "GroupOpHead":
		return o.head(r)
	}
	return nil
}

func (o *opLog) entry(r row) error {
	group := codec.GroupID(r.key[1:])
	seq := binary.BigEndian.Uint64(r.key[1+len(group):])
	if !o.open || group != o.group {
		if err := o.end(); err != nil {
			return err
		}
		o.open, o.group, o.last = true, group, 0
	}
	want := o.last + 1
	o.last = seq
	if seq != want {
		return o.v.found("op-log-gap", column.Group, r.key, "op %d instead of %d", seq, want)
	}
	return nil
}

// end checks the log that was read last against its head.
func (o *opLog) end() error {
	if !o.open {
		return nil
	}
	o.open = false
	k := keys.GroupOpHead{Group: o.group}
	key, _ := k.AppendBinary(nil) // a group has a key
	there, err := has(o.v, k)
	if err != nil {
		return err
	}
	if !there {
		return o.v.found("op-head-missing", column.Group, key, "a log of %d ops has no head", o.last)
	}
	h, ok, err := get(o.v, k)
	if err != nil || !ok {
		return err
	}
	if h.Sequence < o.last { // one that is greater is reported where the head stands
		return o.v.found("op-head-sequence", column.Group, key, "the head is at op %d, the log ends at %d", h.Sequence, o.last)
	}
	return nil
}

func (o *opLog) head(r row) error {
	if err := o.end(); err != nil {
		return err
	}
	h, err := codec.GroupOpHeadValue{}.Decode(r.value)
	if err != nil {
		return err
	}
	group := codec.GroupID(r.key[1:])
	if h.Sequence > 0 {
		there, err := has(o.v, keys.GroupOpLog{Group: group, Seq: keys.NewSeq(h.Sequence)})
		if err != nil {
			return err
		}
		if !there {
			return o.v.found("op-head-sequence", column.Group, r.key, "the head is at op %d, which the log does not have", h.Sequence)
		}
	}
	root, ok, err := o.v.namespaceOf(group)
	if err != nil || !ok {
		return err
	}
	return o.v.headOps(r.key, root, h.DagHeads)
}

// headOps checks that heads are ops of a namespace.
func (v *verifier) headOps(key []byte, namespace codec.GroupID, heads []codec.OpID) error {
	for _, h := range heads {
		there, err := has(v, keys.NamespaceGovOp{Namespace: namespace, Delta: h})
		if err != nil {
			return err
		}
		if !there {
			if err := v.found("op-missing", column.Group, key, "the head %s is no op of the namespace %s", h, namespace); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxDepth is how deep groups nest, with room for what is wrong.
const maxDepth = 64

// namespaceOf returns the root above a group, if it is one whose ops are here.
func (v *verifier) namespaceOf(g codec.GroupID) (root codec.GroupID, ok bool, err error) {
	for range maxDepth {
		parent, ok, err := get(v, keys.GroupParentRef{Child: g})
		if err != nil {
			return root, false, err
		}
		if !ok {
			there, err := has(v, keys.NamespaceGovHead{Namespace: g})
			return g, there, err
		}
		g = parent.ParentID
	}
	return root, false, nil
}

// checkGovHeads checks that the heads of a namespace are ops of it.
func checkGovHeads(v *verifier) check {
	return rowCheck(func(r row) error {
		if r.info.Name != "NamespaceGovHead" {
			return nil
		}
		h, err := codec.NamespaceGovHeadValue{}.Decode(r.value)
		if err != nil {
			return err
		}
		return v.headOps(r.key, codec.GroupID(r.key[1:]), h.DagHeads)
	})
}
