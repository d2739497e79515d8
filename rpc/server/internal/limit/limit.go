// Package limit counts what a server takes on at once, and makes the errors that
// refuse what is too much, or comes too late. Start at [Quota].
package limit

import (
	"strconv"
	"sync/atomic"

	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Quota counts things of which there may be so many at once. Any number of goroutines
// may use it. It is not copied once it is used.
type Quota struct {
	What  string // as in the field of ErrorKind BUSY
	Limit int64
	used  atomic.Int64
}

// Take takes n, or returns a *fault.Error that says that there is too much.
func (q *Quota) Take(n int64) error {
	if q.used.Add(n) <= q.Limit {
		return nil
	}
	q.used.Add(-n)
	return Busy(q.What, q.Limit)
}

// Give gives back n that were taken.
func (q *Quota) Give(n int64) { q.used.Add(-n) }

// Used returns how much is taken.
func (q *Quota) Used() int64 { return q.used.Load() }

// Busy refuses what there would be too much of.
func Busy(what string, limit int64) *fault.Error {
	of := strconv.FormatInt(limit, 10)
	return fault.New(stoav1.ErrorKind_ERROR_KIND_BUSY,
		"rpc: busy: no more than "+of+unit(what)+what+" at once; try again later",
		fault.FieldWhat, what, fault.FieldLimit, of)
}

func unit(what string) string {
	if what == WhatRequests || what == WhatUnpaced {
		return " bytes of "
	}
	return " "
}

// What there may be too much of.
const (
	WhatRequests     = fault.WhatRequests
	WhatScans        = "scans"
	WhatSessions     = "sessions"
	WhatSessionScans = "scans of one session"
	WhatCalls        = fault.WhatCalls
	WhatConnections  = "connections"
	WhatUntaken      = "messages of one stream that wait"
	WhatUnpaced      = "messages of one stream without credit"
)

// Stopping ends what would go on for long when the server drains.
func Stopping() error {
	return fault.New(stoav1.ErrorKind_ERROR_KIND_STOPPING, "rpc: unavailable: the daemon is shutting down")
}

// What the pages of all open scans are to hold at most, about, in bytes; and the least
// that a page holds however many scans there are. A scan is reckoned three pages: the
// one that is read, and its part of those that wait on a connection or are sent.
const (
	allPages = 48 << 20
	minPage  = 16 << 10
)

// PageSize returns about how many bytes the next page of a scan may have: the more
// scans are open, the fewer, since their readers may be slow.
func PageSize(scans *Quota) int {
	share := allPages / 3 / max(scans.Used(), 1)
	return int(min(max(share, minPage), wire.MaxPage))
}
