// Package naming finds what a person means by a name or by the first digits of an
// id: namespaces, groups and their keys, members, contexts, deltas, ops, blobs and
// applications.
//
// [Find] reads nothing but the rows of a store, and so it answers alike for a daemon
// and for a directory. What it returns holds no secret.
package naming

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
)

// MaxMatches is the most matches of an [Answer].
const MaxMatches = 16

// MinDigits is the fewest hex digits that count as the beginning of an id.
const MinDigits = 4

// ErrQuery is returned for a query that nothing could match.
var ErrQuery = errors.New("naming: not a query")

// Kind is what is looked for. The zero Kind is none. The numbers go over the wire.
type Kind uint8

// The kinds.
const (
	Namespace   Kind = 1 + iota // by id, or by the name of its root group; also one that this node waits to enter
	Group                       // by id or name
	Member                      // of Query.Group or of a group above it, by identity or name
	Context                     // by id, by an alias of this node, or by its name in a group
	Delta                       // of Query.Context, applied or waiting, by id
	Op                          // of Query.Group, a namespace, by id
	Blob                        // by id
	Application                 // by id, or by an alias of this node
	SigningKey                  // that this node holds for Query.Group, by its public half
	GroupKey                    // of Query.Group, by id
)

var kinds = []string{Namespace: "namespace", Group: "group", Member: "member", Context: "context", Delta: "delta",
	Op: "op", Blob: "blob", Application: "application",
	SigningKey: "signing key", GroupKey: "group key"}

// Valid reports whether k is one of the kinds.
func (k Kind) Valid() bool { return k >= Namespace && k <= GroupKey }

// String returns the name of the kind, or "Kind(n)".
func (k Kind) String() string {
	if !k.Valid() {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kinds[k]
}

// Query is what is looked for.
type Query struct {
	Kind Kind
	Text string // a whole name, or at least MinDigits hex digits of an id

	// Group is the group of members, which they have to be of, or of one above it; the
	// namespace of ops; the group of keys; and the group in which contexts have names.
	// Zeros: contexts of all groups, and nothing of the others.
	Group codec.GroupID
	// Context is the context of deltas.
	Context codec.ContextID
}

func (q *Query) check() error {
	switch {
	case !q.Kind.Valid():
		return fmt.Errorf("%w: no kind %d", ErrQuery, q.Kind)
	case q.Text == "":
		return fmt.Errorf("%w: the text is empty", ErrQuery)
	case slices.Contains([]Kind{Member, Op, SigningKey, GroupKey}, q.Kind) && q.Group == codec.GroupID{}:
		return fmt.Errorf("%w: a %s of no group", ErrQuery, q.Kind)
	case q.Kind == Delta && q.Context.IsZero():
		return fmt.Errorf("%w: a delta of no context", ErrQuery)
	}
	return nil
}

// Match is something that a query may mean.
type Match struct {
	ID   [32]byte
	Name string        // by which it was found; empty: by its id
	In   codec.GroupID // the group in which it has the name, or to which it belongs; zeros: none
}

// Answer is all that a query may mean: one match if it is clear.
type Answer struct {
	Matches []Match // at most MaxMatches, those by name first
	More    bool    // there are more
}

// add adds a match, unless its id is there already. It returns false once there are
// enough.
func (a *Answer) add(m Match) bool {
	for i := range a.Matches {
		if a.Matches[i].ID == m.ID {
			return true
		}
	}
	if len(a.Matches) == MaxMatches {
		a.More = true
		return false
	}
	a.Matches = append(a.Matches, m)
	return true
}
