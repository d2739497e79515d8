package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// MaxInTx is how many bytes a document or a patch has that is given to a Tx: what it
// does with them other writes wait for. Store.Create and Store.Update take longer
// ones, since they do all that takes long before the batch.
const MaxInTx = 64 << 10

// Tx changes records of one tenant. Everything that it changes lands in one batch, and
// it sees its own changes. It is valid until the function that it was given to
// returns, and not safe for concurrent use. After ErrNotFound of a document, and the
// other refusals of an *Error, it may go on.
type Tx struct {
	s       *Store
	work    *kv.Work
	tenant  string
	spaces  map[string]*kv.Space
	missing string // a collection that has no space
	opened  []opened
}

// opened is a collection whose space a transaction has come by.
type opened struct {
	name       string
	collection *Collection
	inner      *kv.Tx
}

// Now is the time that the changes take place at.
func (tx *Tx) Now() time.Time { return tx.work.Now() }

// Work returns the unit of work that the transaction is a part of, for what is to hold or to
// land with it in other spaces of the tenant.
func (tx *Tx) Work() *kv.Work { return tx.work }

// in returns the transaction of a collection's space.
func (tx *Tx) in(name string) (*Collection, *kv.Tx, error) {
	for i := range tx.opened {
		if o := &tx.opened[i]; o.name == name {
			return o.collection, o.inner, nil
		}
	}
	c, err := tx.s.Collection(name)
	if err != nil {
		return nil, nil, err
	}
	space := tx.spaces[name]
	if space == nil {
		if space = tx.s.kv.Remembered(tx.tenant, kv.SystemRecord, name); space == nil {
			tx.missing = name
			return nil, nil, errMissing
		}
		tx.spaces[name] = space
	}
	inner, err := tx.work.In(space)
	if errors.Is(err, kv.ErrSpaceNotFound) {
		tx.missing = name
	}
	if err == nil {
		tx.opened = append(tx.opened, opened{name, c, inner})
	}
	return c, inner, err
}

// Revision is the revision of the last change of a collection, those of the transaction
// included.
func (tx *Tx) Revision(collection string) (uint64, error) {
	_, inner, err := tx.in(collection)
	if err != nil {
		return 0, err
	}
	return inner.Revision(), nil
}

// Get returns a document, whose bytes are the caller's, or ErrNotFound.
func (tx *Tx) Get(collection, id string) (Doc, error) {
	c, inner, err := tx.in(collection)
	if err != nil {
		return Doc{}, err
	}
	d, err := c.get(inner, id)
	d.JSON = bytes.Clone(d.JSON)
	return d, c.told(err)
}

// Has reports whether there is a record, for who wants nothing of it.
func (tx *Tx) Has(collection, id string) (bool, error) {
	c, inner, err := tx.in(collection)
	if err != nil {
		return false, err
	}
	_, err = c.get(inner, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, c.told(err)
}

// getter is what single records are read from.
type getter interface {
	Get(key []byte) (kv.Record, error)
}

// get returns a document, which may share memory with what it was read from.
func (c *Collection) get(from getter, id string) (Doc, error) {
	if !c.ID.fits(id) {
		return Doc{}, noRecord(id)
	}
	r, err := from.Get(c.ID.key(id))
	if errors.Is(err, kv.ErrNotFound) {
		return Doc{}, noRecord(id)
	}
	if err != nil {
		return Doc{}, err
	}
	return c.doc(r)
}

// Find returns documents that a filter finds, in force or not, in order, at most most of
// them (1 to kv.MaxTxRead), and whether there are more. Their bytes are the caller's.
func (tx *Tx) Find(collection string, by Filter, most int) (list []Doc, more bool, err error) {
	c, inner, terms, more, err := tx.terms(collection, by, most)
	for _, t := range terms {
		d, err := c.get(inner, c.ID.of(t.Key))
		if err != nil {
			return nil, false, c.told(err)
		}
		d.JSON = bytes.Clone(d.JSON)
		list = append(list, d)
	}
	return list, more, err
}

// Count is how many documents Find would return.
func (tx *Tx) Count(collection string, by Filter, most int) (int, error) {
	_, _, terms, _, err := tx.terms(collection, by, most)
	return len(terms), err
}

// terms are those that a filter finds.
func (tx *Tx) terms(collection string, by Filter, most int) (c *Collection, inner *kv.Tx, terms []kv.Term, more bool, err error) {
	c, inner, err = tx.in(collection)
	if err != nil {
		return nil, nil, nil, false, err
	}
	f, err := c.filter(by)
	if err == nil {
		terms, more, err = inner.ByTerm(f.number, f.from, f.to, most)
	}
	return c, inner, terms, more, c.told(err)
}

// small refuses what is too long for a transaction.
func small(field string, text []byte) error {
	if len(text) > MaxInTx {
		return &Error{Code: CodeTooLarge, Field: field, Limit: MaxInTx, Have: uint64(len(text)), Reason: "it is too long for a unit of work of several records"}
	}
	return nil
}

// Create makes a record; see [Store.Create].
func (tx *Tx) Create(collection string, doc []byte) (Doc, error) {
	c, inner, err := tx.in(collection)
	if err == nil {
		err = small("doc", doc)
	}
	if err != nil {
		return Doc{}, err
	}
	for range idAttempts {
		made, err := c.made(doc, tx.Now(), tx.s.o.Rand)
		if err != nil {
			return Doc{}, c.told(err)
		}
		d, err := tx.insert(c, inner, made)
		if errors.Is(err, ErrAlreadyExists) && made.generated {
			continue
		}
		return d, c.told(err)
	}
	return Doc{}, c.told(errNoID)
}

// Update changes a record; see [Store.Update].
func (tx *Tx) Update(collection, id string, patch []byte, o UpdateOptions) (Doc, error) {
	return tx.update(collection, id, patch, o)
}

// Transition moves a record to a state; see [Store.Transition].
func (tx *Tx) Transition(collection, id, to string, patch []byte, o UpdateOptions) (Doc, error) {
	c, err := tx.s.Collection(collection)
	if err != nil {
		return Doc{}, err
	}
	if patch, err = c.moving(to, patch); err != nil {
		return Doc{}, c.told(err)
	}
	return tx.update(collection, id, patch, o)
}

func (tx *Tx) update(collection, id string, patch []byte, o UpdateOptions) (Doc, error) {
	c, inner, err := tx.in(collection)
	if err == nil {
		err = small("patch", patch)
	}
	if err != nil {
		return Doc{}, err
	}
	old, err := c.get(inner, id)
	if err == nil {
		err = old.expected(o.Revision)
	}
	if err != nil {
		return Doc{}, c.told(err)
	}
	next, err := c.revised(old, patch, tx.Now())
	if err != nil {
		return Doc{}, c.told(err)
	}
	if next == nil {
		old.JSON = bytes.Clone(old.JSON)
		return old, nil
	}
	d, err := tx.replace(c, inner, old, next)
	return d, c.told(err)
}

// expected returns a conflict if the document has another revision; 0 is any.
func (d *Doc) expected(revision uint64) error {
	if revision != 0 && d.Revision != revision {
		return Conflict(revision, d.Revision)
	}
	return nil
}

// Delete removes a record and returns what it was, or ErrNotFound.
func (tx *Tx) Delete(collection, id string, o UpdateOptions) (Doc, error) {
	c, inner, err := tx.in(collection)
	if err != nil {
		return Doc{}, err
	}
	d, err := tx.remove(c, inner, id, o)
	return d, c.told(err)
}

func (tx *Tx) remove(c *Collection, inner *kv.Tx, id string, o UpdateOptions) (Doc, error) {
	if err := c.changeable(); err != nil {
		return Doc{}, err
	}
	old, err := c.get(inner, id)
	if err == nil {
		err = old.expected(o.Revision)
	}
	if err != nil {
		return Doc{}, err
	}
	old.JSON = bytes.Clone(old.JSON)
	if c.Check != nil {
		if err := c.Check(tx, old, Doc{ID: id}); err != nil {
			return Doc{}, err
		}
	}
	if _, err = inner.Delete(c.ID.key(id)); err == nil {
		err = c.arm(inner, id, nil)
	}
	return old, err
}

func readOnly() *Error {
	return refuse(CodeImmutable, "collection", "an archive is read only")
}

// changeable refuses changes of what is there.
func (c *Collection) changeable() error {
	switch {
	case c.archived:
		return readOnly()
	case c.AppendOnly:
		return refuse(CodeImmutable, "collection", "records of this collection are made, and never changed nor removed")
	}
	return nil
}

// insert puts a record that there is none of.
func (tx *Tx) insert(c *Collection, inner *kv.Tx, made created) (Doc, error) {
	if c.archived {
		return Doc{}, readOnly()
	}
	before := inner.Revision()
	p, err := tx.placed(c, inner, made)
	if err != nil {
		return Doc{}, err
	}
	_, err = inner.Get(c.ID.key(p.ID))
	if err == nil {
		return Doc{}, refuse(CodeAlreadyExists, c.ID.Field, "there is a record with this id: update it, or choose another")
	}
	if !errors.Is(err, kv.ErrNotFound) {
		return Doc{}, err
	}
	if c.Check != nil {
		if err := c.Check(tx, Doc{}, Doc{ID: p.ID, JSON: p.JSON, Written: tx.Now()}); err != nil {
			return Doc{}, err
		}
	}
	if p.Keep != "" { // now that nothing refuses it any more
		if inner.Revision() != before {
			return Doc{}, fmt.Errorf("record: %s: the making of a record has made another of the collection", c.Name)
		}
		if err := inner.Keep(p.Keep, p.Kept); err != nil {
			return Doc{}, err
		}
	}
	return c.put(inner, p.ID, 0, p.JSON, c.lifetime(p.JSON, true))
}

// placed gives a new record its id, and says what only that says of it.
func (tx *Tx) placed(c *Collection, inner *kv.Tx, made created) (Placed, error) {
	switch {
	case made.placer != nil:
		p, err := made.placer.Place(tx)
		p.Keep = keptName + p.Keep
		return p, err
	case c.ID.Kind == idDaily:
		now := tx.Now()
		day := now.Format(dayLayout)
		n, err := c.counted(inner, day)
		id := c.ID.daily(day, n+1)
		return Placed{id, c.numbered(made.doc, id, now), counterName + day, binary.BigEndian.AppendUint64(nil, n+1)}, err
	}
	return Placed{ID: made.id, JSON: made.doc}, nil
}

// put stores a document under an id. ordinal is that of the record that is there; 0:
// there is none.
func (c *Collection) put(inner *kv.Tx, id string, ordinal uint64, doc json.RawMessage, o kv.PutOptions) (Doc, error) {
	key := c.ID.key(id)
	if ordinal == 0 {
		// A record that has expired and is not swept yet goes first, with a revision.
		if _, err := inner.Delete(key); err != nil && !errors.Is(err, kv.ErrNotFound) {
			return Doc{}, err
		}
		ordinal = inner.Revision() + 1
	}
	r, err := inner.Put(key, stored(ordinal, doc), o)
	if err == nil {
		err = c.arm(inner, id, doc)
	}
	if err != nil {
		return Doc{}, err
	}
	return Doc{ID: id, Revision: r.Revision, Ordinal: ordinal, JSON: doc, Written: r.Written, Expires: r.Expires}, nil
}

// replace puts a document in the place of another of the record.
func (tx *Tx) replace(c *Collection, inner *kv.Tx, old Doc, next json.RawMessage) (Doc, error) {
	if err := c.changeable(); err != nil {
		return Doc{}, err
	}
	if c.Check != nil {
		if err := c.Check(tx, old, Doc{ID: old.ID, JSON: next, Written: tx.Now(), Ordinal: old.Ordinal}); err != nil {
			return Doc{}, err
		}
	}
	return c.put(inner, old.ID, old.Ordinal, next, c.lifetime(next, false))
}

// keeper is what what is kept is read from.
type keeper interface {
	Kept(name string) ([]byte, error)
}

// counted is how many ids a day has been given.
func (c *Collection) counted(from keeper, day string) (uint64, error) {
	value, err := from.Kept(counterName + day)
	if err != nil || value == nil {
		return 0, err
	}
	if len(value) != 8 {
		return 0, fmt.Errorf("record: %s: %w: the counter of %s", c.Name, engine.ErrCorrupt, day)
	}
	return binary.BigEndian.Uint64(value), nil
}
