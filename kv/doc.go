// Package kv keeps key-values of many tenants in the Generic column: records
// with revisions, expiry and declared indexes, a log of changes that watchers
// read, sorted sets, streams with groups of consumers, and jobs with a due time.
//
// [Open] makes a [Store] of an engine. A [Space] is a small ordered database of
// one tenant: [Space.Update] changes it in one batch through a [Tx], [Space.Get],
// [Space.List] and [Space.Watch] read it, [Space.View] reads it as it is at one
// moment. [Store.Update] changes several spaces of a tenant in one batch, and [Store.View]
// reads several as they are at one moment. A [Type] says what the records of a space are and how they are
// indexed. [Store.Check] recounts everything.
// README.md has every row's bytes.
package kv

// Limits.
const (
	MaxTenant  = 256       // bytes of a tenant's name
	MaxName    = 1024      // bytes of the name of a space, a sorted set, a stream, a group, a consumer, a job, or of what is kept
	MaxKey     = 16 << 10  // bytes of a record's key
	MaxValue   = 15 << 20  // bytes of a record's value
	MaxTerm    = 4 << 10   // bytes of a term of an index
	MaxHistory = 64        // revisions of a key that a space can keep
	DefaultLog = 4096      // changes that a log keeps, unless the type says otherwise
	MaxInline  = 4 << 10   // bytes of the longest value that a log holds itself
	MaxPage    = 10_000    // entries of a page
	maxTenants = 1<<63 - 1 // numbers of tenants, never given twice
)
