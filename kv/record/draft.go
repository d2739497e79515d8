package record

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/stoadb/stoa/kv/document"
)

// Draft is a new document that holds to the declaration of its collection: what takes
// long is done, and a transaction only has to insert it.
type Draft struct {
	collection string
	text       []byte
	made       created
}

// Draft prepares a new record, outside of any batch; see [Store.Create].
func (s *Store) Draft(collection string, doc []byte) (*Draft, error) {
	c, err := s.Collection(collection)
	if err != nil {
		return nil, err
	}
	made, err := c.made(doc, s.kv.Now(), s.o.Rand)
	return &Draft{collection, bytes.Clone(doc), made}, c.told(err)
}

// Creatable returns the refusal of a document with an id of its own that would not be made a
// record at a time; nil: it would, unless its id is taken.
func (c *Collection) Creatable(doc []byte, now time.Time) error {
	_, err := c.made(doc, now, rand.Reader)
	return c.told(err)
}

// Insert makes the record of a draft; see [Store.Create]. A draft may be inserted again,
// by another run of the same function.
func (tx *Tx) Insert(d *Draft) (Doc, error) {
	c, inner, err := tx.in(d.collection)
	if err != nil {
		return Doc{}, err
	}
	doc, err := tx.insert(c, inner, d.made)
	if errors.Is(err, ErrAlreadyExists) && d.made.generated {
		return tx.Create(d.collection, d.text)
	}
	return doc, c.told(err)
}

// Note sets fields of a record that the store itself says, whatever the declaration has
// of them: nothing is checked, no stamp moves, and Check is not asked. fields is an
// object in canonical form; null removes a field. It returns ErrNotFound.
func (tx *Tx) Note(collection, id string, fields json.RawMessage) (Doc, error) {
	c, inner, err := tx.in(collection)
	if err != nil {
		return Doc{}, err
	}
	if err := c.changeable(); err != nil {
		return Doc{}, c.told(err)
	}
	old, err := c.get(inner, id)
	if err != nil {
		return Doc{}, c.told(err)
	}
	next := document.Merge(old.JSON, fields)
	d, err := c.put(inner, id, old.Ordinal, next, c.lifetime(next, false))
	return d, c.told(err)
}

// InForce reports whether a document is in force at the time of the transaction, as
// Valid says; not if there is no such collection.
func (tx *Tx) InForce(collection string, d Doc) bool {
	c, err := tx.s.Collection(collection)
	return err == nil && c.inForce(d.JSON, tx.Now())
}

// keptName is what the names of what a collection keeps for itself follow.
const keptName = "kept:"

// Kept returns what a collection keeps for itself under a name, beside its records; nil:
// nothing. It is valid until the transaction ends.
func (tx *Tx) Kept(collection, name string) ([]byte, error) {
	c, inner, err := tx.in(collection)
	if err != nil {
		return nil, err
	}
	value, err := inner.Kept(keptName + name)
	return value, c.told(err)
}

// Keep has a collection keep something for itself under a name; nothing removes what is
// there.
func (tx *Tx) Keep(collection, name string, value []byte) error {
	c, inner, err := tx.in(collection)
	if err != nil {
		return err
	}
	return c.told(inner.Keep(keptName+name, value))
}

// Kept returns what a collection keeps for itself under a name, beside its records; nil:
// nothing.
func (v *View) Kept(collection, name string) ([]byte, error) {
	c, inner, err := v.in(collection)
	if err != nil || inner == nil {
		return nil, err
	}
	value, err := inner.Kept(keptName + name)
	return value, c.told(err)
}
