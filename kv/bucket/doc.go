// Package bucket is buckets: key-values of a tenant whose keys are subjects, with revisions
// that count bucket-wide, history, times to live and watches, as NATS KV has them.
//
// [New] makes a [Store] of a kv.Store. [Store.Create] makes a bucket and [Store.Open] returns
// it. [Bucket.Put], [Bucket.Create], [Bucket.Update], [Bucket.Delete] and [Bucket.Purge] change
// a key; [Bucket.In] does the same in a unit of work, with what else is to land with it.
// [Bucket.Get], [Bucket.At] and [Bucket.History] read one, [Bucket.Keys] finds keys by filters of
// package subject, [Bucket.Watch] tells what happens to them.
//
// README.md has the rules and the bytes.
package bucket

import (
	"time"

	"github.com/stoadb/stoa/kv"
)

// Limits.
const (
	MaxHistory = kv.MaxHistory // revisions of a key, the newest included
	MaxValue   = kv.MaxValue   // bytes of a value
	MaxName    = 160           // bytes of a bucket's name: those that contracts give have 133, and a number
	MaxBuckets = 10_000        // of a tenant
)

// MarkersKept is how old a marker is at least that [Bucket.PurgeDeletes] removes, unless it
// is told otherwise.
const MarkersKept = 30 * time.Minute

// The spaces of a tenant: one with what is known of its buckets, and one for each of them.
const registrySpace = "registry"
