// Package limit counts what a server takes on at once, of all users and of each, and makes
// the errors that refuse what is too much, or comes too late. Start at [Shares].
package limit

import (
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Quota counts things of which there may be so many at once, of all users together and, of
// all but those who may do everything, of each. Make one by [Shares.Quota]. Any number of
// goroutines may use it.
type Quota struct {
	What  string // as in the field of ErrorKind BUSY
	Limit int64

	shares *Shares
	at     int  // of User.used
	bytes  bool // it counts memory, of which a connection has a limit of its own
	used   atomic.Int64
}

// Take takes n for an account, or returns a *fault.Error that says that there is too much, and
// takes nothing, not for a moment: what one is refused must not be in the way of another. A nil
// account is the server's own.
func (q *Quota) Take(a *Account, n int64) error {
	if err := q.takeOwn(a, n); err != nil {
		return err
	}
	if !add(&q.used, n, q.Limit) {
		q.giveOwn(a, n)
		return Busy(q.What, q.Limit)
	}
	return nil
}

// takeOwn counts n for the account alone.
func (q *Quota) takeOwn(a *Account, n int64) error {
	if a == nil {
		return nil
	}
	own, most, share := &a.user.used[q.at], int64(math.MaxInt64), int64(math.MaxInt64)
	if !a.user.trusted {
		most, share = a.most, q.Share(a, max(q.used.Load()-own.Load(), 0))
	}
	if q.bytes && !add(&a.bytes, n, most) {
		return tooMuch(q.What, most, "one connection", a)
	}
	if !add(own, n, share) {
		if q.bytes {
			a.bytes.Add(-n)
		}
		return tooMuch(q.What, share, "one user", a)
	}
	return nil
}

// add adds n to what is taken, unless that were more than most.
func add(taken *atomic.Int64, n, most int64) bool {
	for {
		now := taken.Load()
		if n > most-now {
			return false
		}
		if taken.CompareAndSwap(now, now+n) {
			return true
		}
	}
}

// Share returns how much the user of an account may have while others have what they do. While
// nobody else is connected but those who may do everything, it is half of what they leave; with
// others, no more than its part of all, and at most half of what all leave: so that however
// many are greedy, there is something for who comes next. An eighth of all is for those who
// may do everything.
func (q *Quota) Share(a *Account, others int64) int64 {
	if a == nil || a.user.trusted {
		return q.Limit - others
	}
	free := q.Limit - q.Limit/reserve - others
	share := max(free/2, 0)
	if q.shares.crowd.Load() > 1 {
		share = min(share, q.Limit/q.shares.Parts)
	}
	return share
}

// reserve is the part of everything that users who may do everything have for themselves: an eighth.
const reserve = 8

// Give gives back n that were taken for an account.
func (q *Quota) Give(a *Account, n int64) {
	q.used.Add(-n)
	q.giveOwn(a, n)
}

func (q *Quota) giveOwn(a *Account, n int64) {
	if a == nil {
		return
	}
	a.user.used[q.at].Add(-n)
	if q.bytes {
		a.bytes.Add(-n)
	}
}

// Used returns how much is taken.
func (q *Quota) Used() int64 { return q.used.Load() }

// Busy refuses what there would be too much of.
func Busy(what string, limit int64) *fault.Error {
	of := strconv.FormatInt(limit, 10)
	return fault.New(stoav1.ErrorKind_ERROR_KIND_BUSY,
		"rpc: busy: no more than "+of+unit(what)+what+" at once; try again later",
		fault.FieldWhat, what, fault.FieldLimit, of)
}

// tooMuch refuses what one user, or one connection, would have too much of.
func tooMuch(what string, limit int64, of string, a *Account) *fault.Error {
	most := strconv.FormatInt(limit, 10)
	return fault.New(stoav1.ErrorKind_ERROR_KIND_BUSY,
		"rpc: busy: no more than "+most+unit(what)+what+" of "+of+" at once, here uid "+strconv.FormatUint(uint64(a.user.UID), 10)+"; try again later",
		fault.FieldWhat, what, fault.FieldLimit, most)
}

// TooLarge refuses a message that the connection of an account may not hold at all.
func TooLarge(size int64, a *Account) *fault.Error {
	most := strconv.FormatInt(a.most, 10)
	return fault.New(stoav1.ErrorKind_ERROR_KIND_TOO_LARGE,
		"rpc: a message of "+strconv.FormatInt(size, 10)+" bytes, where a connection of uid "+strconv.FormatUint(uint64(a.user.UID), 10)+" may hold "+most+" (stoa serve --connection-memory)",
		fault.FieldReason, "message", fault.FieldLimit, most)
}

// Stalled ends a connection on which a message that has begun does not go on.
func Stalled(after time.Duration) *fault.Error {
	return fault.New(stoav1.ErrorKind_ERROR_KIND_CLOSED, "rpc: closed: a message that has begun did not go on for "+after.String())
}

func unit(what string) string {
	if what == WhatRequests || what == WhatAnswers || what == WhatUnpaced {
		return " bytes of "
	}
	return " "
}

// What there may be too much of.
const (
	WhatRequests     = fault.WhatRequests
	WhatAnswers      = "answers"
	WhatScans        = "scans"
	WhatSessions     = "sessions"
	WhatSessionScans = "scans of one session"
	WhatCalls        = fault.WhatCalls
	WhatAllCalls     = "calls"
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
