package namespace

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Rules is the version of what this build makes of ops: of the rules of package group, of
// the ops that can be read, and of claims. It is raised with every change after which ops
// that are stored make other rows. README.md says what each version was.
const Rules = 3

// rules1 are the rules of a namespace whose ops are of version 1: later ones make the same
// of those.
const rules1 = 2

// firstRules are those of namespaces that do not say by which they were made.
const firstRules = 1

// ErrRules is returned for a namespace whose rows were made by newer rules than those of
// this build; and by [Store.Verify] for one whose rows were made by older rules, where
// they cannot be made anew: nothing can be said of them.
var ErrRules = fmt.Errorf("%w: rows by other rules", engine.ErrUnsupported)

// rulesOf returns by which rules the rows of a namespace were made; of one that has not
// begun, by this build's.
func rulesOf(r engine.Getter, ns codec.GroupID) (uint32, error) {
	key := scoped(nil, rulesScope, ns)
	value, err := r.Get(nil, column.Generic, key)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		begun, err := engine.Has(r, keys.NamespaceGovHead{Namespace: ns})
		if err != nil || begun {
			return firstRules, err
		}
		return Rules, nil
	case err != nil:
		return 0, err
	case len(value) != 4:
		return 0, damaged(key, fmt.Sprintf("%d bytes instead of 4", len(value)))
	}
	return binary.LittleEndian.Uint32(value), nil
}

// putRules notes that the rows of a namespace, whose ops have that version, are by the
// rules of this build.
func putRules(b *engine.Batch, ns codec.GroupID, v codec.OpVersion) {
	rules := uint32(Rules)
	if v == codec.OpVersion1 {
		rules = rules1
	}
	b.Put(column.Generic, scoped(nil, rulesScope, ns), binary.LittleEndian.AppendUint32(nil, rules))
}

// newerRules returns ErrRules for a namespace whose rows newer rules have made.
func newerRules(ns codec.GroupID, made uint32) error {
	if made <= Rules {
		return nil
	}
	return fmt.Errorf("namespace: %w: those of %s were made by rules %d, and this build has rules %d: use a newer one", ErrRules, ns, made, Rules)
}

// olderRules returns ErrRules for a namespace whose rows older rules have made.
func olderRules(ns codec.GroupID, made uint32) error {
	if made >= rules1 {
		return nil
	}
	return fmt.Errorf("namespace: %w: those of %s were made by rules %d, and this build has rules %d: serve the store once, which makes them anew",
		ErrRules, ns, made, Rules)
}
