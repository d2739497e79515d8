package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Peer is what a service of a daemon is measured beside, by clients of type C.
type Peer[C Client] struct {
	// Name is the name in the report.
	Name string
	// Client returns a connection for one goroutine at work.
	Client func() (C, error)
	// Elsewhere returns the CPU time that another process, which does the work of
	// the peer, has used so far; nil: its work is done in this process.
	Elsewhere func() (time.Duration, error)
	// Close is called once, when all clients are released.
	Close func() error
}

// Client is one goroutine's hands on a peer.
type Client interface {
	// Release gives up what the client holds.
	Release() error
}

// crew returns n clients that work, each as hand returns for it and its source of
// randomness.
func (p *Peer[C]) crew(n int, hand func(c C, of int, random *rand.Rand) func() error) (*crew, error) {
	var clients []C
	crew := &crew{name: p.Name, elsewhere: p.Elsewhere, release: func() {
		for _, c := range clients {
			c.Release()
		}
	}}
	if crew.elsewhere == nil { // other goroutines of this process do the work
		crew.elsewhere = func() (time.Duration, error) { return 0, nil }
	}
	for i := range n {
		c, err := p.Client()
		if err != nil {
			return crew, fmt.Errorf("%s: %w", p.Name, err)
		}
		clients = append(clients, c)
		do := hand(c, i, rand.New(rand.NewPCG(uint64(i), 22)))
		crew.hands = append(crew.hands, func() (int, error) { return 1, do() })
	}
	return crew, nil
}

// crewsOf returns a crew of each peer.
func crewsOf[C Client](peers []*Peer[C], n int, hand func(c C, of int, random *rand.Rand) func() error) ([]*crew, error) {
	var crews []*crew
	for _, p := range peers {
		c, err := p.crew(n, hand)
		crews = append(crews, c)
		if err != nil {
			releaseAll(crews)
			return nil, err
		}
	}
	return crews, nil
}

// KVPeers opens stores of the caller's below o.Dir, which are measured beside the
// Kv service. What it returns is closed at the end of the run, also when it
// returns an error.
type KVPeers func(o Options) ([]*KVPeer, error)

// KVPeer is a store of values under keys, with times to live.
type KVPeer = Peer[KVClient]

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
	Client
}

// LockPeers opens services of locks of the caller's below o.Dir, which are measured beside
// the Lock service. What it returns is closed at the end of the run, also when it returns an
// error.
type LockPeers func(o Options) ([]*LockPeer, error)

// LockPeer is a service of locks.
type LockPeer = Peer[LockClient]

// LockClient is one agent's hands on a service of locks.
type LockClient interface {
	// Lock takes a lock that nobody holds; where others ask for it too, it waits for it.
	Lock(name string, contended bool) error
	// Unlock gives back what Lock has taken.
	Unlock() error
	Client
}

// BucketPeers opens buckets of the caller's below o.Dir, which are measured beside the Bucket
// service; synced: what is put is on disk when that is answered. What it returns is closed at the
// end of the run, also when it returns an error.
type BucketPeers func(o Options, synced bool) ([]*BucketPeer, error)

// BucketPeer is a bucket of values under keys, which tells those who watch what happens to them.
type BucketPeer = Peer[BucketClient]

// BucketClient is one goroutine's hands on a bucket.
type BucketClient interface {
	// Other returns the same connection with another bucket, which has nothing in it.
	Other(name string) (BucketClient, error)
	// Fill stores n values, as quickly as can be; they need not be on disk.
	Fill(n int, key func(int) string, value func(int) []byte) error
	// Put stores a value.
	Put(key string, value []byte) error
	// Get returns the size of the value that a key has, and false if it has none.
	Get(key string) (size int, found bool, err error)
	// Keys counts all keys, one at a time, and calls now every few thousand of them.
	Keys(now func() error) (n int, err error)
	// Watch calls told, from one goroutine, with each value that is put, from when Watch
	// returns until ctx ends.
	Watch(ctx context.Context, told func(value []byte)) error
	Client
}
