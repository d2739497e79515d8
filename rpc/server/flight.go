package server

import (
	"strconv"
	"sync/atomic"

	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// quota counts things of which there may be so many at once.
type quota struct {
	what  string // as in the field of ErrorKind BUSY
	limit int64
	used  atomic.Int64
}

// take takes n, or returns an *rpc.Error that says that there is too much.
func (q *quota) take(n int64) error {
	if q.used.Add(n) <= q.limit {
		return nil
	}
	q.used.Add(-n)
	return busy(q.what, q.limit)
}

func (q *quota) give(n int64) { q.used.Add(-n) }

func busy(what string, limit int64) *rpc.Error {
	of := strconv.FormatInt(limit, 10)
	return rpc.NewError(stoav1.ErrorKind_ERROR_KIND_BUSY,
		"rpc: busy: no more than "+of+unit(what)+what+" at once; try again later",
		rpc.FieldWhat, what, rpc.FieldLimit, of)
}

func unit(what string) string {
	if what == whatRequests || what == whatUnpaced {
		return " bytes of "
	}
	return " "
}

// What there may be too much of.
const (
	whatRequests     = rpc.WhatRequests
	whatScans        = "scans"
	whatSessions     = "sessions"
	whatSessionScans = "scans of one session"
	whatCalls        = rpc.WhatCalls
	whatConnections  = "connections"
	whatUntaken      = "messages of one stream that wait"
	whatUnpaced      = "messages of one stream without credit"
)
