package bench

import (
	"context"
	"time"
)

// KVPeers opens stores of the caller's below o.Dir, which are measured beside the
// Kv service. What it returns is closed at the end of the run, also when it
// returns an error.
type KVPeers func(o Options) ([]*KVPeer, error)

// KVPeer is a store of values under keys, with times to live.
type KVPeer struct {
	// Name is the name in the report.
	Name string
	// Client returns a connection for one goroutine at work.
	Client func() (KVClient, error)
	// Elsewhere returns the CPU time that another process, which does the work of
	// the peer, has used so far; nil: its work is done in this process.
	Elsewhere func() (time.Duration, error)
	// Close is called once, when all clients are released.
	Close func() error
}

// KVClient is one goroutine's hands on a peer. Keys are hexadecimal digits and one
// letter, values are JSON.
type KVClient interface {
	// Put stores a value, which is on disk when it returns.
	Put(key string, value []byte) error
	// PutFor stores a value that is to be there for a time; the key has none.
	PutFor(key string, value []byte, ttl time.Duration) error
	// Get returns the size of the value that a key has, and false if it has none.
	Get(key string) (size int, found bool, err error)
	// Watch calls expired, from one goroutine, with each key that is told to have
	// lost its value, from when Watch returns until ctx ends.
	Watch(ctx context.Context, expired func(key string)) error
	// Release gives up what the client holds.
	Release() error
}
