package session

import (
	"context"
	"crypto/rand"
	_ "embed" // has the declaration
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// Sessions is the name of the collection.
const Sessions = "session"

// Fields of a session.
const (
	fieldHandle  = "handle"
	fieldID      = "session_id"
	fieldUser    = "user_id"
	fieldCreated = "created_at"
	fieldActive  = "last_active"
	fieldExpires = "expires_at"
	fieldTTL     = "ttl_seconds"
	fieldSliding = "sliding"
)

//go:embed session.json
var declaration []byte

// Collections returns what sessions are declared to be. It is the same in all of a process,
// and not to be changed.
func Collections() ([]*record.Collection, error) {
	c, err := declaredOnce()
	return []*record.Collection{c}, err
}

var declaredOnce = sync.OnceValues(func() (*record.Collection, error) {
	c, err := record.Parse(declaration)
	if err == nil {
		c.Prepare = prepare
	}
	return c, err
})

// Options say how the sessions run. The zero Options are the defaults.
type Options struct {
	Rand io.Reader // what ids are made of; nil: crypto/rand. It is read by many goroutines at once.
}

// Store is the sessions of a kv.Store, and needs no closing. Any number of goroutines may use
// it at once. Its methods refuse with a [*record.Error]; other errors are those of the store,
// the engine or the context.
type Store struct {
	records    *record.Store
	collection *record.Collection
	rand       io.Reader
}

// New returns the sessions among the records of a store, to which it adds their collection:
// before anybody uses them.
func New(records *record.Store, o Options) (*Store, error) {
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	c, err := declaredOnce()
	if err != nil {
		return nil, err
	}
	return &Store{records, c, o.Rand}, records.Add(c)
}

// ofStore are the fields that nobody gives a new session.
var ofStore = []string{fieldHandle, fieldCreated, fieldActive, fieldExpires}

// Create makes a session of a document, an object with a user_id, and returns it with its id:
// nobody is told that again but who asks by the literal key of the user. The document may have
// an id of its own, which is then as hard to guess as whoever made it saw to. It returns
// record.ErrAlreadyExists for one that is taken; record.ErrValidation, with the field, for what
// the schema refuses; record.ErrTooLarge for a user who has MaxOfUser sessions.
func (s *Store) Create(ctx context.Context, tenant string, doc []byte, o record.WriteOptions) (made record.Doc, err error) {
	given, err := object("doc", doc)
	if err != nil {
		return made, err
	}
	for _, field := range ofStore {
		if document.Field(given, document.Path{field}) != nil {
			return made, malformed(field, "it is the store's to say: leave it out of a new session")
		}
	}
	if document.Field(given, document.Path{fieldID}) == nil {
		id, err := newID(s.rand)
		if err != nil {
			return made, err
		}
		given = with(given, fieldID, document.FromText(id))
	}
	draft, err := s.draft(given, s.records.Now())
	if err != nil {
		return made, err
	}
	err = s.records.Do(ctx, tenant, o.Durability, func(tx *record.Tx) (err error) {
		made, err = insert(tx, draft)
		return err
	})
	return made, err
}

// object is the canonical form of an object that a caller gives.
func object(field string, doc []byte) (json.RawMessage, error) {
	if len(doc) > record.MaxInTx {
		e := refuse(record.CodeTooLarge, field, "a session has at most %d bytes", record.MaxInTx)
		e.Limit, e.Have = record.MaxInTx, uint64(len(doc))
		return nil, e
	}
	canonical, err := document.Canonical(doc)
	if err != nil {
		return nil, malformed(field, "%s", err)
	}
	if document.Kind(canonical) != '{' {
		return nil, malformed(field, "it is to be an object")
	}
	return canonical, nil
}

func with(doc json.RawMessage, field string, value json.RawMessage) json.RawMessage {
	return document.With(doc, document.Path{field}, value)
}

// newSession is a session that is ready to be inserted.
type newSession struct {
	draft *record.Draft
	user  string
	// handle, and until when it is there.
	handle string
	until  time.Time
}

// timed gives a new session its times, and returns until when it is there. What it has not is
// that it is made now, and was active last when it was made; it is there for what is left of
// its time.
func timed(doc json.RawMessage, now time.Time) (_ json.RawMessage, until time.Time, err error) {
	created, err := instant(doc, fieldCreated, now)
	if err != nil {
		return nil, until, err
	}
	active, err := instant(doc, fieldActive, created)
	if err != nil {
		return nil, until, err
	}
	from := created
	if is(doc, fieldSliding) {
		from = active
	}
	until, err = instant(doc, fieldExpires, from.Add(lifetime(doc)))
	if err != nil {
		return nil, until, err
	}
	if most := now.Add(lifetime(doc)); until.After(most) { // by another clock, which counts for nothing here
		until = most
	}
	for field, at := range map[string]time.Time{fieldCreated: created, fieldActive: active, fieldExpires: until} {
		doc = with(doc, field, document.FromText(document.FormatInstant(at)))
	}
	return doc, until, nil
}

// draft prepares a new session.
func (s *Store) draft(doc json.RawMessage, now time.Time) (n newSession, err error) {
	if doc, n.until, err = timed(doc, now); err != nil {
		return n, err
	}
	if n.draft, err = s.records.Draft(Sessions, doc); err != nil {
		return n, err
	}
	n.user, _ = document.Text(document.Field(doc, document.Path{fieldUser})) // the draft has seen to both
	id, _ := document.Text(document.Field(doc, document.Path{fieldID}))
	n.handle = HandleOf(id)
	return n, nil
}

// says reports whether a document has something in a field. An empty text is nothing, as the
// hashes of other systems have it.
func says(doc json.RawMessage, field string) bool {
	value := string(document.Field(doc, document.Path{field}))
	return value != "" && value != "null" && value != `""`
}

// instant is what a field says, and another where it says nothing.
func instant(doc json.RawMessage, field string, otherwise time.Time) (time.Time, error) {
	if !says(doc, field) {
		return otherwise, nil
	}
	text, _ := document.Text(document.Field(doc, document.Path{field}))
	at, err := document.ParseInstant(text)
	if err != nil {
		return at, malformed(field, "it is to be an instant, as 2026-03-18T15:30:00Z")
	}
	return at, nil
}

// lifetime is how long a session is there. A document that says what no session may have it
// say is refused later.
func lifetime(doc json.RawMessage) time.Duration {
	n := int64(defaultTTL / time.Second)
	if value := document.Field(doc, document.Path{fieldTTL}); value != nil {
		_ = json.Unmarshal(value, &n)
	}
	return min(time.Duration(n)*time.Second, defaultTTL)
}

// defaultTTL is how long a session is there that does not say for how long, and at most.
const defaultTTL = 24 * time.Hour

func is(doc json.RawMessage, field string) bool {
	return string(document.Field(doc, document.Path{field})) == "true"
}

// insert makes a session, unless its user has too many.
func insert(tx *record.Tx, n newSession) (record.Doc, error) {
	have, err := tx.Count(Sessions, ofUser(n.user), MaxOfUser)
	if err != nil {
		return record.Doc{}, err
	}
	if have >= MaxOfUser {
		e := refuse(record.CodeTooLarge, fieldUser, "the user has as many sessions as one may have: revoke some")
		e.Limit, e.Have = MaxOfUser, uint64(have)
		return record.Doc{}, e
	}
	made, err := tx.Insert(n.draft)
	if errors.Is(err, record.ErrAlreadyExists) {
		err = refuse(record.CodeAlreadyExists, fieldID, "there is a session with this id: choose another, or none")
	}
	return made, err
}

// ofUser are the sessions of a user, the oldest first.
func ofUser(user string) record.Filter { return record.Equal("by_user", user) }
