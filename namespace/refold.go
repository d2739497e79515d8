package namespace

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
)

// Rules is the version of what this build makes of ops: of the rules of package group, of
// the ops that can be read, and of claims. It is raised with every change after which ops
// that are stored make other rows. README.md says what each version was.
const Rules = 4

// rules1 are the rules of a namespace whose ops are of version 1: later ones make the same
// of those.
const rules1 = 2

// stale reports whether rows that some rules have made, no newer ones than this build's, are to be
// made anew.
func stale(made uint32) bool { return made != Rules && made != rules1 }

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
	if !stale(made) {
		return nil
	}
	return fmt.Errorf("namespace: %w: those of %s were made by rules %d, and this build has rules %d: serve the store once, which makes them anew",
		ErrRules, ns, made, Rules)
}

// Refold makes the rows of all namespaces anew that older rules have made, which else
// happens when a namespace is used. Where none are, it reads a row for each namespace. A
// namespace of which it fails does not keep it from the others; the errors come joined.
func (s *Store) Refold(ctx context.Context) error {
	var failed []error
	for e, err := range engine.Scan(s.db, keys.Prefix[keys.NamespaceGovHead]{}) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		ns := e.Key.Namespace
		made, err := rulesOf(s.db, ns)
		if err == nil {
			err = newerRules(ns, made)
		}
		if err == nil && stale(made) {
			err = s.refoldNow(ns)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// refoldNow has a namespace loaded, which makes its rows anew, and lets it go.
func (s *Store) refoldNow(ns codec.GroupID) error {
	r := &request{Task: func(b *batch) error {
		b.p.state = nil
		b.p.current.Store(nil)
		return nil
	}}
	if err := s.submit(ns, r); err != nil {
		return err
	}
	return r.Err
}

// refold loads a namespace whose rows older rules have made, and makes them anew. What is
// cut off is done again from the start: that the rows are by these rules is written last.
func (s *Store) refold(ns codec.GroupID, made uint32) (*loaded, error) {
	c, rows, err := fold(s.db, ns, nil)
	if err != nil || c.ledger.Len() == 0 { // rows without ops are damage, which stays as it is
		return c, err
	}
	b := s.newBatch(nil, c)
	b.anew = true
	want := wanted{}
	want.add(rows)
	if err := b.reread(want); err != nil {
		return nil, err
	}
	if err := b.correct(want); err != nil {
		return nil, err
	}
	putRules(&b.rows, ns, c.newest())
	if err := b.apply(); err != nil {
		return nil, err
	}
	s.options.Log.Info("namespace: rows made anew", "namespace", ns.String(), "rules", Rules, "before", made)
	return c, nil
}

// reread judges those ops again that were opened and are void for good: a build may read
// what an older one could not.
func (b *batch) reread(want wanted) error {
	c := b.c
	for i, f := range c.facts {
		if f.fault == 0 || f.fault == group.NoGroup {
			continue
		}
		op, err := readOp(b.s.db, c.id, f.id)
		if err != nil {
			return err
		}
		o, err := b.read(op)
		if err != nil {
			return err
		}
		if o == nil || o.fault == f.fault {
			continue
		}
		if err := b.unseal(i, op, o); err != nil {
			return err
		}
		if err := b.flush(); err != nil {
			return err
		}
	}
	c.ledger.Settle()
	rows, _, err := c.ledger.Rows()
	want.add(rows)
	return err
}

// correct writes the rows of the namespace's groups that are not as they should be, with
// its claims, and the groups and counters of the contexts that it names.
func (b *batch) correct(want wanted) error {
	contexts := map[codec.ContextID]struct{}{}
	err := differing(b.s.db, b.c.follows(), want, func(key, _, value []byte) error {
		if k, err := (keys.ContextGroupRef{}).Parse(key); err == nil { // for the claims of all to say
			contexts[k.Context] = struct{}{}
			return nil
		}
		if value == nil {
			b.rows.Delete(column.Group, bytes.Clone(key))
		} else {
			b.rows.Put(column.Group, bytes.Clone(key), value)
		}
		return b.flush()
	})
	if err != nil {
		return err
	}
	err = each(b.s.db, homeScope[:], func(key, value []byte) error {
		c, ns, _, err := parseClaim(key, value)
		if ns == b.c.id {
			contexts[c] = struct{}{}
		}
		return err
	})
	if err != nil {
		return err
	}
	for c := range b.c.ledger.Claims() {
		contexts[c] = struct{}{}
	}
	for c := range contexts {
		b.homes[c] = struct{}{}
		if len(b.homes) < b.s.most {
			continue
		}
		if err := b.apply(); err != nil {
			return err
		}
		b.reset()
		clear(b.homes)
	}
	return nil
}

// flush writes the rows so far, which do not depend on those that follow, once they fill a
// batch.
func (b *batch) flush() error {
	if b.rows.Len() < b.s.most && b.rows.Size() < fullBytes {
		return nil
	}
	err := b.s.db.Apply(&b.rows)
	b.reset()
	return err
}
