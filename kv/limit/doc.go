// Package limit is rate limits over a sliding window, exact: of one user at one endpoint there are
// never more than so many in any window, wherever it begins.
//
// [New] makes a [Store] of a kv.Store. [Store.Check] counts what is about to be done, or says
// in how long it may be; [Store.Show], [Store.List] and [Store.Reset] are for those who look
// after limits. What is stored of a limit is one record with the instants that count
// (history.go); nothing is in memory. README.md has the rules and the bytes.
package limit

import "time"

// Limits of limits.
const (
	MaxEndpoint = 256                // bytes
	MaxUser     = 128                // bytes
	MaxMax      = 10_000             // of a rule
	MaxWindow   = 7 * 24 * time.Hour // of a rule
	MaxPage     = 10_000             // limits of a page
)
