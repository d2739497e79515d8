// Package subject is the grammar of a bucket's keys, which is that of NATS subjects: tokens
// of some letters with a dot between them, so that a key such as github.12345.abc123 is found by
// each of its parts.
//
// [Check] says whether a key is one. [Escape] makes a token of any text, [Segment] of bytes,
// [IDs] makes new ones. [Parse] reads a [Filter], which keys match, as owner.*; a [Set] has many
// of them; [Filter.Plan] says where the keys that match are. It is pure: it keeps nothing and
// opens nothing.
// README.md has the rules.
package subject

// Limits. A store has a little room beside what a key and a token may have, for what it
// keeps them under.
const (
	MaxKey     = 16<<10 - 64 // bytes of a key, and of a filter
	MaxToken   = 4<<10 - 64  // bytes of a token, by which a store may have an index
	MaxFilters = 1000        // of a set
)

const (
	dot  = '.' // between tokens
	one  = '*' // as a token of a filter: one token, whichever
	rest = '>' // as the last token of a filter: one token or more
)
