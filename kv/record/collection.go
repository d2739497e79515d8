package record

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
)

// Collection is a declared kind of documents; see README.md for what each field says.
// [Parse] makes one.
type Collection struct {
	Name      string              `json:"name"`
	About     string              `json:"about"`
	ID        ID                  `json:"id"`
	Schema    json.RawMessage     `json:"schema"`
	Reserved  map[string][]string `json:"reserved"`  // by field: words that its value, or what stands before its first colon, must not be
	Immutable []string            `json:"immutable"` // fields
	Stamps    Stamps              `json:"stamps"`
	States    *States             `json:"states"`
	Indexes   []*Index            `json:"indexes"`
	Valid     *Valid              `json:"valid"`
	Keys      []*Key              `json:"keys"`
	History   int                 `json:"history"` // revisions of a record that are kept
	TTL       Duration            `json:"ttl"`     // from its creation on; 0: for ever
	Renew     bool                `json:"renew"`   // the TTL is from its last change on
	Expires   string              `json:"expires"` // in place of TTL: the field that says from which instant on a record is gone; "": none does
	Archive   *Archive            `json:"archive"`
	Deadline  *Deadline           `json:"deadline"`
	MaxBytes  int                 `json:"max_bytes"` // of a document; 0: MaxDocument
	// AppendOnly says that records are made and never changed nor removed, by no verb.
	AppendOnly bool `json:"append_only"`
	// Operators are the verbs (create, update, transition, delete, import) that are for those who run the host. A service
	// refuses them to users who are bound to a tenant.
	Operators []string `json:"operators"`

	// Prepare returns what a document is to be, whenever one is made or changed, before
	// the schema looks at it; or an error, which refuses it. It sees no store and no
	// clock, and is called before the batch, unless a transaction makes the change.
	Prepare func(doc json.RawMessage) (json.RawMessage, error) `json:"-"`
	// Check is asked about each change of a record in the batch that makes it, once
	// everything that is declared holds: an error of it refuses the change. The JSON of
	// old is nil for a record that is made, that of changed for one that is deleted. It
	// may read other records by tx; it runs while all other writes wait.
	Check func(tx *Tx, old, changed Doc) error `json:"-"`
	// Placer returns what gives a new document its place among the others, of a collection
	// that is only appended to and has daily ids, which it then counts itself; nil: the
	// store counts them. It is called before the batch, with a document that holds to the
	// declaration, whose id and stamps stand in for those of the place: Prepare may give a
	// new document its own, which saves to put them in later.
	Placer func(doc json.RawMessage) (Placer, error) `json:"-"`
	// Loaded returns what is done with each record that an import stores, in the batch that
	// stores it: for what verbs do beside changing the record. It is called before each
	// batch.
	Loaded func(ctx context.Context, tenant string) (func(tx *Tx, d Doc) error, error) `json:"-"`

	declared json.RawMessage // in canonical form
	schema   *schema
	fixed    []document.Path // fields that no patch changes
	stamped  []document.Path // those that a new document gets the time in
	updated  document.Path   // nil: none
	expires  document.Path   // nil: none
	words    []reservedWords
	archived bool // this is where another collection puts what it archives: it is read only
}

// Placer gives a new record its place among the others, in the batch that makes it.
type Placer interface {
	// Place reads by tx, and changes nothing by it. It may be called again.
	Place(tx *Tx) (Placed, error)
}

// Placed is a record that has its place.
type Placed struct {
	ID   string          // a daily id behind all others
	JSON json.RawMessage // in canonical form, with the id, and with stamps of its day
	// Keep is the name under which the collection keeps Kept from then on.
	Keep string
	Kept []byte
}

// Duration is a time.Duration that stands in JSON as its text, as 720h.
type Duration time.Duration

// UnmarshalJSON reads the text of a duration that is not negative.
func (d *Duration) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	v, err := time.ParseDuration(s)
	if err == nil && v < 0 {
		err = fmt.Errorf("a duration of %s", s)
	}
	*d = Duration(v)
	return err
}

// MarshalJSON is the text of the duration.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// Stamps are the fields that the store sets the times of changes in; "": none. What a
// new document has in them already stays.
type Stamps struct {
	Created string `json:"created"`
	Updated string `json:"updated"` // grows with every change
}

// Valid says when a record is in force: while the fields of When have one of the values
// given, where null stands for a field that is not there too, at From or after, and
// before Until. A time that is null or not there is no bound. Lists leave out what is
// not in force at the moment at which they are read, unless they are asked for all.
type Valid struct {
	From  string `json:"from"`
	Until string `json:"until"`
	When  When   `json:"when"`

	from, until document.Path // nil: none
}

// Archive says which records Store.Archive puts aside: those whose fields have one of
// the values, and whose instant Since is longer ago than After.
type Archive struct {
	When  When     `json:"when"`
	Since string   `json:"since"`
	After Duration `json:"after"`
}

// archiveSuffix makes of the name of a collection that of its archive.
const archiveSuffix = ".archive"

// declaredVerbs are those that change records one by one, and Import, which asks less of them.
var declaredVerbs = []string{"create", "update", "transition", "delete", "import"}

// ForOperators reports whether a verb is for those who run the host.
func (c *Collection) ForOperators(verb string) bool { return slices.Contains(c.Operators, verb) }

// collectionName is what names are; like the other expressions of the package it is
// compiled when it is first asked: every command links them, and few need one.
var collectionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_.-]{0,99}$`) })

// Parse reads the declaration of a collection. It returns ErrInvalidArgument, with the
// field, for one that is not well formed. Nothing is read from outside: a schema that
// refers to a file or an address is refused.
func Parse(declaration []byte) (*Collection, error) {
	canonical, err := document.Canonical(declaration)
	if err != nil {
		return nil, invalid("declaration", "%s", err)
	}
	c := &Collection{declared: canonical}
	decoder := json.NewDecoder(bytes.NewReader(canonical))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(c); err != nil {
		return nil, invalid("declaration", "%s", err)
	}
	if err := c.compile(); err != nil {
		err.Field = "declaration." + err.Field
		return nil, c.told(err)
	}
	return c, nil
}

func noName() *Error { return invalid("name", "a name is %s", collectionName()) }

// compile checks the declaration and prepares what is made of it.
func (c *Collection) compile() *Error {
	if !collectionName().MatchString(c.Name) {
		return noName()
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = MaxDocument
	}
	if c.MaxBytes < 2 || c.MaxBytes > MaxDocument {
		return invalid("max_bytes", "a document has at most %d bytes", MaxDocument)
	}
	if c.History < 0 || c.History > kv.MaxHistory {
		return invalid("history", "0 to %d revisions of a record are kept", kv.MaxHistory)
	}
	if c.Renew && c.TTL == 0 {
		return invalid("renew", "it says of a time to live from when on it counts: there is no ttl")
	}
	if c.Expires != "" && c.TTL != 0 {
		return invalid("expires", "it and ttl both say how long a record is there: declare one of them")
	}
	var err error
	if c.schema, err = compileSchema(c.Name, c.Schema); err != nil {
		return invalid("schema", "%s", err)
	}
	if err := c.ID.compile(); err != nil {
		return err
	}
	for i, verb := range c.Operators {
		if !slices.Contains(declaredVerbs, verb) {
			return invalid(fmt.Sprintf("operators.%d", i), "the verbs are %s", strings.Join(declaredVerbs, ", "))
		}
	}
	for _, part := range []func() *Error{c.compileStates, c.compileIndexes, c.compileKeys, c.compileTimes, c.compileDeadline, c.compileWithheld} {
		if err := part(); err != nil {
			return err
		}
	}
	c.fix(append(slices.Clone(c.Immutable), c.ID.Field, c.Stamps.Created, c.Stamps.Updated)...)
	for _, f := range []string{c.Stamps.Created, c.Stamps.Updated} {
		if f != "" {
			c.stamped = append(c.stamped, document.ParsePath(f))
		}
	}
	if c.Stamps.Updated != "" {
		c.updated = document.ParsePath(c.Stamps.Updated)
	}
	c.compileReserved()
	return nil
}

func parsePaths(fields ...string) (list []document.Path) {
	for _, f := range fields {
		list = append(list, document.ParsePath(f))
	}
	return list
}

// fix has no patch change fields; "" is none.
func (c *Collection) fix(fields ...string) {
	for _, f := range fields {
		if f != "" {
			c.fixed = append(c.fixed, document.ParsePath(f))
		}
	}
}

// compileTimes checks what is declared about times, and the values of conditions.
func (c *Collection) compileTimes() *Error {
	var instants []string
	if v := c.Valid; v != nil {
		instants = append(instants, v.From, v.Until)
		if v.From != "" {
			v.from = document.ParsePath(v.From)
		}
		if v.Until != "" {
			v.until = document.ParsePath(v.Until)
		}
	}
	if c.Expires != "" {
		instants, c.expires = append(instants, c.Expires), document.ParsePath(c.Expires)
	}
	if c.Archive != nil {
		if c.Archive.Since == "" || len(c.Archive.When.fields) == 0 {
			return invalid("archive", "it says which records (when) are put aside, and by which instant (since)")
		}
		instants = append(instants, c.Archive.Since)
	}
	for _, f := range append(instants, c.Stamps.Created, c.Stamps.Updated) {
		if f != "" && !c.schema.isInstant(document.ParsePath(f)) {
			return invalid("schema", "the field %s is to be an instant: a string of the format date-time, by properties", f)
		}
	}
	return nil
}

// When says which values fields of a document have, each one of some; null stands for a
// field that is not there too. In JSON it is an object of arrays by field.
type When struct{ fields []whenField }

type whenField struct {
	path   document.Path
	values []json.RawMessage
}

// UnmarshalJSON reads an object of arrays.
func (w *When) UnmarshalJSON(text []byte) error {
	canonical, err := document.Canonical(text)
	if err != nil {
		return err
	}
	for name := range document.Names(canonical) {
		f := whenField{path: document.ParsePath(name)}
		for value := range document.Elements(document.Field(canonical, document.Path{name})) {
			f.values = append(f.values, value)
		}
		if len(f.values) == 0 {
			return fmt.Errorf("of %s the values are an array, of one at least", name)
		}
		w.fields = append(w.fields, f)
	}
	return nil
}

// MarshalJSON is the object of arrays.
func (w When) MarshalJSON() ([]byte, error) {
	out := map[string][]json.RawMessage{}
	for _, f := range w.fields {
		out[f.path.String()] = f.values
	}
	return json.Marshal(out)
}

// holds reports whether the fields of a document have these values.
func (w *When) holds(doc json.RawMessage) bool {
	for _, f := range w.fields {
		have := document.Field(doc, f.path)
		if have == nil {
			have = null
		}
		if !slices.ContainsFunc(f.values, func(v json.RawMessage) bool { return bytes.Equal(v, have) }) {
			return false
		}
	}
	return true
}

var null = json.RawMessage("null")

// instant returns the moment that a field of a document is; false if it is none, or
// there is no path.
func instant(doc json.RawMessage, p document.Path) (time.Time, bool) {
	if p == nil {
		return time.Time{}, false
	}
	text, _ := document.Text(document.Field(doc, p))
	t, err := document.ParseInstant(text)
	return t, err == nil
}

// inForce reports whether a document is in force at a time.
func (c *Collection) inForce(doc json.RawMessage, now time.Time) bool {
	v := c.Valid
	if v == nil {
		return true
	}
	if !v.When.holds(doc) {
		return false
	}
	if from, ok := instant(doc, v.from); ok && now.Before(from) {
		return false
	}
	until, ok := instant(doc, v.until)
	return !ok || now.Before(until)
}

// InForce reports whether a document of the collection, in canonical form, is in force
// at a time, as Valid says.
func (c *Collection) InForce(doc json.RawMessage, at time.Time) bool { return c.inForce(doc, at) }

// Types are what kv knows of the collection, and of its archive, for stores that are
// opened or checked without a Store.
func (c *Collection) Types() (types []kv.Type) {
	for _, one := range c.WithArchive() {
		types = append(types, one.typ())
	}
	return types
}

// WithArchive returns the collection, and that of its archive if it has one.
func (c *Collection) WithArchive() []*Collection {
	if c.Archive == nil || c.archived {
		return []*Collection{c}
	}
	return []*Collection{c, c.archive()}
}

// typ is what kv knows of the collection itself.
func (c *Collection) typ() kv.Type {
	t := kv.Type{System: kv.SystemRecord, Space: c.Name, History: c.History}
	if c.inOrder() {
		t.Inline = 1 // what a change has put stays where it is: the log does not hold it twice
	}
	add := func(number uint16, name string, keys bool, terms func(key, value []byte) [][]byte) {
		if keys {
			terms = nil
		}
		t.Indexes = append(t.Indexes, kv.Index{Number: number, Name: name, Terms: terms, Keys: keys})
	}
	if c.Deadline != nil {
		t.Job = c.due
	}
	add(0, "all", c.inOrder(), allTerms)
	for _, i := range c.Indexes {
		add(i.Number, i.Name, i.ids != nil, i.ofStored)
	}
	return t
}

// archive returns the collection that archived records of c go to.
func (c *Collection) archive() *Collection {
	a := *c
	a.Name, a.archived, a.TTL, a.Renew, a.Archive, a.Deadline, a.Keys, a.Prepare, a.Check = c.Name+archiveSuffix, true, 0, false, nil, nil, nil, nil, nil
	a.Expires, a.expires = "", nil
	a.declared = document.Merge(c.declared, document.With(json.RawMessage(`{"archive":null,"deadline":null,"expires":null,"keys":null,"renew":null,"ttl":null}`), document.Path{"name"}, document.FromText(a.Name)))
	return &a
}

// Declaration is what the collection is declared to be, as JSON in canonical form. It is
// not to be changed.
func (c *Collection) Declaration() json.RawMessage { return c.declared }
