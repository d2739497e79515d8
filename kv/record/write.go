package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
)

// WriteOptions are those of every verb that writes.
type WriteOptions struct {
	Durability engine.Durability
}

// UpdateOptions are those of every verb that changes a record.
type UpdateOptions struct {
	Durability engine.Durability
	// Revision is the one that the record must have, else it is ErrConflict, which says
	// the present one; 0: any.
	Revision uint64
}

const (
	idAttempts    = 16 // to find an id at random that nobody has
	writeAttempts = 4  // to change a record that others change too, before it is done in the batch
)

var errNoID = errors.New("record: every id that was made at random is taken")

// errMoved ends a batch that has found another revision than it was prepared for.
var errMoved = errors.New("record: the record has changed")

// parsed is the canonical form of an object that a caller gives, if it is not too long.
func (c *Collection) parsed(field string, text []byte) (json.RawMessage, error) {
	if len(text) > MaxDocument {
		return nil, &Error{Code: CodeTooLarge, Field: field, Limit: MaxDocument, Have: uint64(len(text)), Reason: "it has too many bytes"}
	}
	out, err := document.Canonical(text)
	if err != nil {
		return nil, malformed(field, "%s", err)
	}
	if document.Kind(out) != '{' {
		return nil, malformed(field, "it is to be an object")
	}
	return out, nil
}

// created is a document that is ready to be inserted.
type created struct {
	id        string
	generated bool
	doc       json.RawMessage
	placer    Placer // nil: the document is complete, but for a daily id
}

// made prepares a new document: what it lacks that the store sets, its instants, and
// whether everything holds that is declared.
func (c *Collection) made(text []byte, now time.Time, random io.Reader) (m created, err error) {
	doc, err := c.parsed("doc", text)
	if err != nil {
		return m, err
	}
	if doc, err = c.schema.inUTC(document.Over(c.schema.defaults, doc)); err != nil {
		return m, err
	}
	given := document.Field(doc, document.Path{c.ID.Field})
	if doc, err = c.prepared(doc); err != nil {
		return m, err
	}
	staged := c.Placer != nil && given == nil && c.standsIn(doc)
	if staged {
		m.generated = true
	} else if m.id, m.generated, err = c.newID(doc, now, random); err != nil {
		return m, err
	}
	if s := c.States; s != nil {
		if absent(doc, s.path) {
			doc = document.With(doc, s.path, document.FromText(s.Initial))
		}
		doc = s.enter(doc, "", now)
	}
	if m.doc = doc; !staged {
		m.doc = c.numbered(doc, m.id, now)
	}
	if err = c.check(m.doc); err == nil && c.Placer != nil {
		m.placer, err = c.Placer(m.doc)
	}
	return m, err
}

// standsIn reports whether a document has what stands in for its id and its stamps until
// it has its place.
func (c *Collection) standsIn(doc json.RawMessage) bool {
	return !absent(doc, document.Path{c.ID.Field}) && !slices.ContainsFunc(c.stamped, func(p document.Path) bool { return absent(doc, p) })
}

// prepared is a document as Prepare has it.
func (c *Collection) prepared(doc json.RawMessage) (json.RawMessage, error) {
	if c.Prepare == nil {
		return doc, nil
	}
	return c.Prepare(doc)
}

// newID is the id of a new document: its own, or a new one.
func (c *Collection) newID(doc json.RawMessage, now time.Time, random io.Reader) (id string, generated bool, err error) {
	field := document.Path{c.ID.Field}
	own := document.Field(doc, field)
	switch {
	case c.ID.Kind == idDaily && own != nil:
		return "", false, malformed(c.ID.Field, "the store numbers these records: leave it out")
	case c.ID.Kind == idDaily: // until it is counted
		return c.ID.daily(now.Format(dayLayout), 1), true, nil
	case own == nil && c.ID.Kind == idDated:
		id, err = c.ID.dated(now, random)
		return id, true, err
	case own == nil:
		return "", false, malformed(c.ID.Field, "it is required")
	}
	id, ok := document.Text(own)
	if !ok {
		return "", false, malformed(c.ID.Field, "an id is a string")
	}
	return id, false, nil
}

// numbered returns a document with its id, and its stamps where it has none.
func (c *Collection) numbered(doc json.RawMessage, id string, now time.Time) json.RawMessage {
	set := document.With(nil, document.Path{c.ID.Field}, document.FromText(id))
	for _, p := range c.stamped {
		// Of what is numbered by the day the day of its creation is that of its id.
		if absent(doc, p) || c.ID.Kind == idDaily {
			set = document.With(set, p, document.FromText(document.FormatInstant(now)))
		}
	}
	return document.Merge(doc, set)
}

// check returns the refusal of a document that does not hold to the declaration.
func (c *Collection) check(doc json.RawMessage) error {
	if len(doc) > c.MaxBytes {
		return &Error{Code: CodeTooLarge, Field: "doc", Limit: uint64(c.MaxBytes), Have: uint64(len(doc)), Reason: "the document has too many bytes"}
	}
	if err := c.reserved(doc); err != nil {
		return err
	}
	if id, _ := document.Text(document.Field(doc, document.Path{c.ID.Field})); !c.ID.fits(id) {
		return malformed(c.ID.Field, "an id matches %s, and has at most %d bytes and no colon", c.ID.pattern, maxID)
	}
	if err := c.schema.check(doc); err != nil {
		return err
	}
	if c.States != nil {
		if err := c.States.complete(doc); err != nil {
			return err
		}
	}
	return c.bounded(doc)
}

// revised prepares what a patch makes of a document; nil if it changes nothing.
func (c *Collection) revised(old Doc, patch []byte, now time.Time) (json.RawMessage, error) {
	if err := c.changeable(); err != nil {
		return nil, err
	}
	p, err := c.parsed("patch", patch)
	if err != nil {
		return nil, err
	}
	doc, err := c.schema.inUTC(document.Merge(old.JSON, p))
	if err != nil {
		return nil, err
	}
	if doc, err = c.prepared(doc); err != nil {
		return nil, err
	}
	if bytes.Equal(doc, old.JSON) {
		return nil, nil
	}
	for _, f := range c.fixed {
		if !bytes.Equal(document.Field(doc, f), document.Field(old.JSON, f)) {
			return nil, refuse(CodeImmutable, f.String(), "the field does not change: leave it out of the patch")
		}
	}
	if s := c.States; s != nil {
		from := s.of(old.JSON)
		if err := s.legal(from, s.of(doc)); err != nil {
			return nil, err
		}
		doc = s.enter(doc, from, now)
	}
	doc = c.stamp(doc, old.JSON, now)
	return doc, c.check(doc)
}

// stamp returns a document with the time of its change, which is after that of the change
// before.
func (c *Collection) stamp(doc, old json.RawMessage, now time.Time) json.RawMessage {
	if c.updated == nil {
		return doc
	}
	if before, ok := instant(old, c.updated); ok && !now.After(before) {
		now = before.Add(time.Millisecond)
	}
	return document.With(doc, c.updated, document.FromText(document.FormatInstant(now)))
}

// moving is a patch that moves a record to a state too.
func (c *Collection) moving(to string, patch []byte) ([]byte, error) {
	if c.States == nil {
		return nil, invalid("collection", "the collection has no states")
	}
	if len(patch) == 0 {
		patch = []byte("{}")
	}
	p, err := c.parsed("patch", patch)
	if err != nil {
		return nil, err
	}
	return document.With(p, c.States.path, document.FromText(to)), nil
}

// Create makes a record of a document, and returns it as it is stored. What the document
// has not, and the declaration says, is set: id, state, stamps, defaults. It returns
// ErrAlreadyExists if there is a record of its id; ErrValidation, with the field, for
// what the schema refuses.
func (s *Store) Create(ctx context.Context, tenant, collection string, doc []byte, o WriteOptions) (Doc, error) {
	c, space, err := s.look(tenant, collection)
	if err != nil {
		return Doc{}, err
	}
	for range idAttempts {
		made, err := c.made(doc, s.kv.Now(), s.o.Rand)
		if err != nil {
			return Doc{}, c.told(err)
		}
		var d Doc
		err = s.one(ctx, tenant, c, space, o.Durability, func(tx *Tx, inner *kv.Tx) error {
			d, err = tx.insert(c, inner, made)
			return err
		})
		if errors.Is(err, ErrAlreadyExists) && made.generated && c.ID.Kind != idDaily {
			continue
		}
		if err != nil {
			return Doc{}, c.told(err)
		}
		return d, nil
	}
	return Doc{}, c.told(errNoID)
}

// one is Do for a verb of one collection, whose space is known unless it is nil.
func (s *Store) one(ctx context.Context, tenant string, c *Collection, space *kv.Space, d engine.Durability, fn func(*Tx, *kv.Tx) error) error {
	spaces := map[string]*kv.Space{}
	if space != nil {
		spaces[c.Name] = space
	}
	return s.do(ctx, tenant, d, spaces, func(tx *Tx) error {
		_, inner, err := tx.in(c.Name)
		if err != nil {
			return err
		}
		return fn(tx, inner)
	})
}

// Update applies a merge patch (RFC 7386) to a record, and returns what it is then. A
// patch that changes nothing is no change, and takes no revision. It returns
// ErrNotFound; ErrConflict for another revision than is expected; ErrImmutable for a
// field that does not change; ErrIllegalTransition; ErrValidation.
func (s *Store) Update(ctx context.Context, tenant, collection, id string, patch []byte, o UpdateOptions) (Doc, error) {
	c, space, err := s.look(tenant, collection)
	if err != nil {
		return Doc{}, err
	}
	d, err := s.update(ctx, tenant, c, space, id, patch, o)
	return d, c.told(err)
}

// Transition moves a record to a state, with a merge patch of other fields; nil: none.
// To the state that it has is no transition, and no error.
func (s *Store) Transition(ctx context.Context, tenant, collection, id, to string, patch []byte, o UpdateOptions) (Doc, error) {
	c, space, err := s.look(tenant, collection)
	if err != nil {
		return Doc{}, err
	}
	if patch, err = c.moving(to, patch); err != nil {
		return Doc{}, c.told(err)
	}
	d, err := s.update(ctx, tenant, c, space, id, patch, o)
	return d, c.told(err)
}

// update prepares a change, and makes it if the record is still what it was prepared
// for. Where others change it again and again, the last attempt is all in the batch.
func (s *Store) update(ctx context.Context, tenant string, c *Collection, space *kv.Space, id string, patch []byte, o UpdateOptions) (d Doc, err error) {
	if space == nil {
		return d, noRecord(id)
	}
	for attempt := 1; ; attempt++ {
		old, err := c.get(space, id)
		if err == nil {
			err = old.expected(o.Revision)
		}
		if err != nil {
			return d, err
		}
		next, err := c.revised(old, patch, s.kv.Now())
		if err != nil || next == nil && !kv.Expects(ctx) {
			return old, err
		}
		err = s.one(ctx, tenant, c, space, o.Durability, func(tx *Tx, inner *kv.Tx) error {
			now, err := c.get(inner, id)
			if err == nil {
				err = now.expected(o.Revision)
			}
			if err != nil {
				return err
			}
			if now.Revision != old.Revision {
				if attempt < writeAttempts {
					return errMoved
				}
				if next, err = c.revised(now, patch, tx.Now()); err != nil || next == nil {
					now.JSON = bytes.Clone(now.JSON)
					d = now
					return err
				}
			}
			if next == nil {
				d = old
				return nil
			}
			d, err = tx.replace(c, inner, now, next)
			return err
		})
		if !errors.Is(err, errMoved) {
			return d, err
		}
	}
}

// Delete removes a record, and returns what it was, or ErrNotFound.
func (s *Store) Delete(ctx context.Context, tenant, collection, id string, o UpdateOptions) (d Doc, err error) {
	c, space, err := s.look(tenant, collection)
	if err != nil {
		return d, err
	}
	if space == nil { // nothing is made for a tenant that has nothing
		return d, c.told(noRecord(id))
	}
	err = s.one(ctx, tenant, c, space, o.Durability, func(tx *Tx, inner *kv.Tx) (err error) {
		d, err = tx.remove(c, inner, id, o)
		return err
	})
	if err != nil {
		return Doc{}, c.told(err)
	}
	return d, nil
}
