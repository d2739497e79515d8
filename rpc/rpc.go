// Package rpc is the store over a Unix socket: a client that is an
// engine.Reader and engine.Writer, the errors that cross the socket, and the
// limits of both sides. Package server is the other end; package stoav1 is the
// protocol, generated from proto.
//
// Start at Dial. README.md is the protocol for clients in other languages.
package rpc

import "github.com/stoadb/stoa/engine"

// Limits of what one call may carry.
const (
	// MaxMessage is the size of a message in bytes, either way: a batch, and
	// room for what is around it.
	MaxMessage = engine.MaxBatch + 1<<20
	// BlobPiece is how many bytes of the content of a blob a message carries here:
	// with what is around them they fill a buffer of 64 KiB. A client may send up
	// to 1 MiB in a message.
	BlobPiece = 64<<10 - 16
	// MaxLookups is the most keys of a MultiGet.
	MaxLookups = 16384
	// MaxDagPage is the most entries of a page of a list of the Dag service.
	MaxDagPage = 1000
	// MaxBlobPage is the most blobs of a page of a list of the Blob service.
	MaxBlobPage = 1000
	// MaxTenants is the most tenants of a page of the Kv service.
	MaxTenants = 1000
	// MaxGovPage is the most entries of a page of a list of the services Namespace
	// and Group.
	MaxGovPage = 1000
	// MaxPage is about the most bytes of a page of a scan. An entry that is
	// larger makes a page of its own.
	MaxPage = 512 << 10
	// MaxPageEntries is the most entries of a page of a scan.
	MaxPageEntries = 2048
	// FirstPageEntries is the most entries of the first page of a scan; each
	// page after it may have PageGrowth times the entries of the one before.
	FirstPageEntries = 32
	// PageGrowth is how fast pages grow.
	PageGrowth = 4
)

// APIVersion is the version of the protocol that this package speaks.
const APIVersion = 1

// Features returns what a server can do, as Admin.Status tells it, if all its
// services are there; README.md has the names.
func Features() []string {
	return []string{"blob", "blob-verify", "dag", "find", "frames", "governance", "health", "kv", "kv-synced", "reflection", "session", "snapshot"}
}
