// Package natskv is the key-value interface of nats.go on buckets of Stoa, so that a program that
// was written for NATS runs on Stoa with one line changed: where it says jetstream.New(nc), it
// says natskv.New(client.Buckets(tenant)).
//
// [New] returns what makes, finds and lists buckets, a [jetstream.KeyValueManager]; [Open] has one
// bucket, however it was found, as a [jetstream.KeyValue]. Any number of goroutines may use both.
// What NATS has and Stoa has not is refused with [ErrUnsupported], and README.md says what else
// differs. The package is a module of its own, so that nothing of NATS is built into Stoa; its
// tests run nats.go's own on it, and random sequences on it and on an embedded NATS server.
package natskv
