// Package session is sessions: that a user is signed in, until a day is over or somebody
// revokes it.
//
// [New] makes a [Store] of records, to which it adds their collection (session.json).
// [Store.Create] gives out an id, by which whoever shows it is found by [Store.Get] and
// [Store.Touch]; [Store.List], [Store.Revoke] and [Store.RevokeAll] are for those who look
// after users, and [Store.Import] takes what another system had.
//
// An id is a secret: who has it is the user. A session is kept, shown and told of under its
// handle ([HandleOf]), which follows from the id and not the other way. README.md has the rules.
package session

// Limits.
const (
	MaxOfUser   = 1000   // sessions that a user has at once
	MaxListed   = 10_000 // ids that a literal key shows
	importBatch = 256    // sessions of one batch of an import
)
