// Package natskv holds buckets of Stoa to NATS KV: its tests run both on the same sequences.
// It is a module of its own, so that nothing of NATS is built into Stoa.
package natskv
