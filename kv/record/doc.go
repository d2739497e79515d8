// Package record keeps JSON documents of declared collections in package kv: each with
// an id, a schema, states, indexes, times, and names that people read.
//
// A [Collection] is declared by data: [Parse] reads its JSON. [New] makes a [Store] of
// a kv.Store and collections, whose verbs are those of records: Create, Get, Update,
// Transition, Delete, List, Lookup, Watch, History, Export, Import, PutAside. [Store.Do]
// changes records of several collections of one tenant in one batch, and [Store.View]
// reads them as they are at one moment. README.md has the declaration, every row's
// bytes, and each rule with its test.
package record

// Limits.
const (
	MaxDocument = 1 << 20 // bytes of a document in canonical form, unless the declaration allows less; of what is parsed too
	MaxTerms    = 1024    // terms of a record in one index
	MaxIDs      = 10_000  // ids that a literal key of an index answers
	DefaultPage = 20      // records of a page that nobody asked a size for
	maxLook     = 10_000  // records that a page of a list looks at
	maxFilters  = 16      // of a list
)
