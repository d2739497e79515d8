package dag

import (
	"sync"
	"unsafe"

	"github.com/stoadb/stoa/codec"
)

// DefaultTrieCache is the size of a [TrieCache] whose options say nothing, in
// bytes.
const DefaultTrieCache = 32 << 20

// TrieCache keeps pages of tries in memory, those used last, up to a size. One
// serves any number of contexts and goroutines.
//
// Pages are found by the hash of what is in them and their depth, never by
// where they stand. So a page can't be stale, whatever became of the batch that
// it was made for, and a snapshot of the past shares the cache with the present.
type TrieCache struct {
	shards [cacheShards]cacheShard
}

const cacheShards = 16

// cacheKey is the content of a page: the layout of rows is a function of the
// keys and values that the hash stands for, and of the depth.
type cacheKey struct {
	hash  codec.Hash
	depth uint8
}

// cacheShard is a least-recently-used list of pages, and an index of it.
type cacheShard struct {
	mu    sync.Mutex
	room  int // bytes left
	index map[cacheKey]*cached
	ring  cached // the list's ends: next is the page used last, prev the one used first
}

type cached struct {
	key        cacheKey
	page       *page
	next, prev *cached
}

// NewTrieCache returns a cache of at most size bytes, about; 0 is
// [DefaultTrieCache], less is no cache at all.
func NewTrieCache(size int) *TrieCache {
	if size == 0 {
		size = DefaultTrieCache
	}
	c := new(TrieCache)
	for i := range c.shards {
		s := &c.shards[i]
		s.room, s.index = size/cacheShards, make(map[cacheKey]*cached)
		s.ring.next, s.ring.prev = &s.ring, &s.ring
	}
	return c
}

func (c *TrieCache) shard(k *cacheKey) *cacheShard { return &c.shards[k.hash[31]%cacheShards] }

// get returns the page, or nil.
func (c *TrieCache) get(hash codec.Hash, depth uint8) *page {
	k := cacheKey{hash, depth}
	s := c.shard(&k)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.index[k]
	if e == nil {
		return nil
	}
	e.unlink()
	s.link(e)
	return e.page
}

// put adds a page, at the expense of those that were not used for the longest.
func (c *TrieCache) put(pg *page, depth uint8) {
	k := cacheKey{pg.hash, depth}
	s := c.shard(&k)
	need := entryMemory(pg)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index[k] != nil {
		return
	}
	for s.room < need {
		oldest := s.ring.prev
		if oldest == &s.ring {
			return
		}
		s.remove(oldest)
	}
	e := &cached{key: k, page: pg}
	s.index[k] = e
	s.link(e)
	s.room -= need
}

// drop removes a page that has been replaced.
func (c *TrieCache) drop(hash codec.Hash, depth uint8) {
	k := cacheKey{hash, depth}
	s := c.shard(&k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.index[k]; e != nil {
		s.remove(e)
	}
}

func (s *cacheShard) remove(e *cached) {
	e.unlink()
	delete(s.index, e.key)
	s.room += entryMemory(e.page)
}

func (s *cacheShard) link(e *cached) {
	e.prev, e.next = &s.ring, s.ring.next
	e.prev.next, e.next.prev = e, e
}

func (e *cached) unlink() { e.prev.next, e.next.prev = e.next, e.prev }

// entryMemory is what a page takes with its place in the list and the index.
func entryMemory(pg *page) int { return pg.memory() + int(unsafe.Sizeof(cached{})) + indexMemory }

// indexMemory is what an entry takes in a map that is filled by half.
const indexMemory = 2 * int(unsafe.Sizeof(cacheKey{})+unsafe.Sizeof((*cached)(nil)))

// Bytes returns about how many bytes the cached pages take.
func (c *TrieCache) Bytes() (n int) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for e := s.ring.next; e != &s.ring; e = e.next {
			n += entryMemory(e.page)
		}
		s.mu.Unlock()
	}
	return n
}
