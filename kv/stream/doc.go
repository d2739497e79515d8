// Package stream is the named streams of a tenant, which are the truth of what happened, and
// durable consumers that read them, as those of NATS JetStream do: what is delivered to a caller
// is acknowledged within a time, or delivered again.
//
// [New] makes a [Store] of a kv.Store; [Store.Open] gives the [Streams] of a tenant.
// [Streams.Append] adds entries in the batch of the change that they tell, [Streams.Publish] adds
// some by themselves. [Streams.Consumer] is a durable consumer: [Consumer.Fetch] delivers
// entries, [Consumer.Ack] and its kin say what came of them. [Consumer.Project] applies each entry
// once to other spaces of the tenant, in the batch that moves the consumer past it;
// [Consumer.Apply] does so with one.
//
// Streams and groups are those of package kv; here are what an entry is, when it is delivered
// (deliver.go), what becomes of what nobody can handle (dead.go), and projections (project.go).
// README.md has the rules and the bytes.
package stream

import "time"

// Limits.
const (
	MaxName             = 128     // bytes of the name of a stream or a consumer
	MaxPayload          = 1 << 20 // bytes of an entry
	MaxBatch            = 1000    // entries that are added, delivered, acknowledged, replayed or dropped at once
	MaxBytes            = 8 << 20 // of the entries that are added or delivered at once; one may be delivered that is alone
	MaxStreams          = 1000    // of a tenant
	MaxConsumers        = 100     // of a stream
	MaxDelivered        = 1000    // deliveries of an entry, the greatest MaxDeliver of a consumer
	MaxUnacked          = 10_000  // the greatest MaxAckPending of a consumer
	MaxDead             = 10_000  // dead letters of a consumer
	MaxReason           = 1024    // bytes of why an entry is a dead letter
	MinAckWait          = time.Millisecond
	MaxAckWait          = time.Hour
	MaxDelay            = 30 * 24 * time.Hour // until what could not be handled is delivered again
	MaxWait             = 5 * time.Minute     // of a fetch
	PlainAckWait        = 30 * time.Second    // of a consumer that does not say how long
	PlainDeliver        = 5                   // MaxDeliver of one that does not say it
	PlainUnacked        = 1000                // MaxAckPending of one that does not say it
	maxLook             = 10_000              // entries that a filter is tried on before what is found is answered
	plainLimit          = 100                 // entries of a read that says no limit
	streamSpace         = "stream"            // the space of a tenant's streams
	indexKey     uint16 = 1                   // of the records by their keys
)
