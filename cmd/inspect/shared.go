package inspect

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
)

// Class says whom a row concerns. The zero Class is none.
type Class string

// The classes.
const (
	Shared Class = "shared" // equal on all nodes with equal state
	Local  Class = "local"  // of this node alone
	Secret Class = "secret" // of this node alone, and not to be shown
)

// sharedScopes are the named scopes of Generic whose rows follow from the state
// of contexts and groups. Others hold what this node has done or met.
var sharedScopes = []string{"dag-trie"}

// classOf returns the class of a row, the name of the part of the column that it
// belongs to, and what of its value is equal on all nodes; what else is in it
// says how this node came to it.
func classOf(col column.Column, info keys.Info, key, value []byte) (Class, string, []byte) {
	switch {
	case info.Secret:
		return Secret, info.Name, value
	case col == column.Generic:
		s := keys.Scope(key)
		if s.IsKV() {
			return Local, "key-value", value
		}
		for _, name := range sharedScopes {
			if s.String() == name {
				return Shared, name, value
			}
		}
		return Local, s.String(), value
	case col.Spec().NodeLocal:
		return Local, info.Name, value
	case col == column.Delta:
		if d, err := (codec.ContextDagDeltaValue{}).Decode(value); err == nil && !d.Applied {
			return Local, "pending", value // what waits depends on what has arrived
		}
	case col == column.Group:
		return Shared, info.Name, governed(info.Name, value)
	}
	return Shared, info.Name, value
}

// governed returns what is equal on all nodes of a value of Group: sequences
// count in the order of arrival, and the form of an op says whether this node
// could open it.
func governed(name string, value []byte) []byte {
	switch name {
	case "GroupOpHead":
		if v, err := (codec.GroupOpHeadValue{}).Decode(value); err == nil {
			v.Sequence = 0
			return reencoded(value, v.AppendBinary)
		}
	case "NamespaceGovHead":
		if v, err := (codec.NamespaceGovHeadValue{}).Decode(value); err == nil {
			v.Sequence = 0
			return reencoded(value, v.AppendBinary)
		}
	case "NamespaceGovOp":
		return nil
	}
	return value
}

func reencoded(was []byte, encode func([]byte) ([]byte, error)) []byte {
	b, err := encode(nil)
	if err != nil {
		return was
	}
	return b
}
