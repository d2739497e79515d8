package redisdump

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Kind is what a key holds. The zero Kind is of no key.
type Kind uint8

// The kinds.
const (
	Text   Kind = iota + 1 // a string, or a document of RedisJSON
	Hash                   // fields
	Set                    // members
	Sorted                 // members with scores
	List                   // elements
	Stream                 // entries
)

var kindNames = [...]string{"nothing", "a string", "a hash", "a set", "a sorted set", "a list", "a stream"}

// String returns the kind for people, with its article.
func (k Kind) String() string { return kindNames[k] }

// Entry is an entry of a stream.
type Entry struct {
	ID     ID
	Fields map[string]string
}

// ID is that of an entry: milliseconds since 1970, and a number within them.
type ID struct{ Ms, Seq uint64 }

// Compare orders ids as their entries were added.
func (id ID) Compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Ms, other.Ms), cmp.Compare(id.Seq, other.Seq))
}

// Value is what a key holds, by its kind.
type Value struct {
	Kind    Kind
	Line    int       // of the last command that changed it
	Expires time.Time // the zero time: never
	Text    string
	Fields  map[string]string
	Scores  map[string]float64 // of the members of a Sorted; of a Set they are 0
	List    []string
	Entries []Entry // in order

	front []string // elements before List, the last one first
}

// whole puts a list together.
func (v *Value) whole() {
	slices.Reverse(v.front)
	v.front, v.List = nil, append(v.front, v.List...)
}

// Dump is the keys that commands leave.
type Dump struct {
	Values   map[string]*Value
	Commands int       // how many were run
	Taken    time.Time // when the dump was taken
}

// Names returns the names of the keys in byte order.
func (d *Dump) Names() []string { return slices.Sorted(maps.Keys(d.Values)) }
