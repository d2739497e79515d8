package merkle

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"sync"
	"unsafe"

	"github.com/stoadb/stoa/codec"
)

// DefaultCache is the size of a [Cache] whose options say nothing, in
// bytes.
const DefaultCache = 32 << 20

// Cache keeps pages of tries in memory, those used last, up to a size. One
// serves any number of contexts and goroutines.
//
// Pages are found by the hash of what is in them and their depth, never by
// where they stand. So a page can't be stale, whatever became of the batch that
// it was made for, and a snapshot of the past shares the cache with the present.
type Cache struct {
	seeds  [2]uint64 // of the tags: who makes hashes that begin alike fills no chain by them
	shards [cacheShards]cacheShard
}

const cacheShards = 16

// cacheKey is the content of a page: the layout of rows is a function of the
// keys and values that the hash stands for, and of the depth.
type cacheKey struct {
	hash  codec.Hash
	depth uint8
}

// cacheShard is a least-recently-used list of pages, and an index of it. Its
// entries stand in one piece of memory and name each other by their places in it:
// a page that comes or goes allocates nothing, and the collector sees only pages.
// A delta replaces about two pages for each of its actions.
type cacheShard struct {
	mu      sync.Mutex
	room    int      // bytes left
	chains  []uint32 // by the lowest bits of a tag: the first entry with them; 0: none
	entries []cached // entry 0 is the list's ends: next is the page used last, prev the one used first
	used    int      // entries with a page
	free    uint32   // an entry without, which begins a chain of them; 0: none
}

// cached is an entry.
type cached struct {
	page       *page
	tag        uint32 // of the key
	depth      uint8
	chain      uint32 // the next entry in the same chain; 0: none
	next, prev uint32
}

// NewCache returns a cache of at most size bytes, about; 0 is
// [DefaultCache], less is no cache at all.
func NewCache(size int) *Cache {
	if size == 0 {
		size = DefaultCache
	}
	c := &Cache{seeds: [2]uint64{rand.Uint64(), rand.Uint64()}}
	for i := range c.shards {
		s := &c.shards[i]
		s.room, s.entries, s.chains = size/cacheShards, make([]cached, 1), make([]uint32, 8)
	}
	return c
}

// locate returns the shard that a page belongs to, locked, and its tag there.
func (c *Cache) locate(k *cacheKey) (*cacheShard, uint32) {
	// Hashes are evenly spread already: one multiplication mixes the seeds in.
	hi, lo := bits.Mul64(binary.LittleEndian.Uint64(k.hash[:])^c.seeds[0],
		binary.LittleEndian.Uint64(k.hash[8:])^c.seeds[1]+uint64(k.depth))
	mixed := hi ^ lo
	s := &c.shards[mixed>>32%cacheShards]
	s.mu.Lock()
	return s, uint32(mixed)
}

// get returns the page, or nil.
func (c *Cache) get(hash codec.Hash, depth uint8) *page {
	k := cacheKey{hash, depth}
	s, tag := c.locate(&k)
	defer s.mu.Unlock()
	i := s.find(&k, tag)
	if i == 0 {
		return nil
	}
	s.unlink(i)
	s.link(i)
	return s.entries[i].page
}

// put adds a page, at the expense of those that were not used for the longest. It takes the place of one of
// the same content whose marks its owner does not know.
func (c *Cache) put(pg *page, depth uint8) {
	k := cacheKey{pg.hash, depth}
	s, tag := c.locate(&k)
	defer s.mu.Unlock()
	if i := s.find(&k, tag); i != 0 {
		if e := &s.entries[i]; pg.owner != 0 && pg.owner != e.page.owner {
			s.room += entryMemory(e.page) - entryMemory(pg)
			e.page = pg
		}
		return
	}
	need := entryMemory(pg)
	for s.room < need {
		oldest := s.entries[0].prev
		if oldest == 0 {
			return
		}
		s.remove(oldest)
	}
	i := s.take()
	e, first := &s.entries[i], s.first(tag)
	e.page, e.tag, e.depth, e.chain = pg, tag, depth, *first
	*first = i
	s.link(i)
	s.room -= need
}

// drop removes a page that has been replaced, and returns it; nil: it is not there.
func (c *Cache) drop(hash codec.Hash, depth uint8) (pg *page) {
	k := cacheKey{hash, depth}
	s, tag := c.locate(&k)
	defer s.mu.Unlock()
	if i := s.find(&k, tag); i != 0 {
		pg = s.entries[i].page
		s.remove(i)
	}
	return pg
}

// first returns where the chain of a tag begins.
func (s *cacheShard) first(tag uint32) *uint32 { return &s.chains[tag&uint32(len(s.chains)-1)] }

// find returns the entry of a key; 0: there is none.
func (s *cacheShard) find(k *cacheKey, tag uint32) uint32 {
	i := *s.first(tag)
	for i != 0 {
		e := &s.entries[i]
		if e.tag == tag && e.depth == k.depth && e.page.hash == k.hash {
			break
		}
		i = e.chain
	}
	return i
}

// take returns an entry for another page. As many chains as there are entries, or
// more, keep them short.
func (s *cacheShard) take() uint32 {
	if s.used++; s.used > len(s.chains) {
		s.rehash(2 * len(s.chains))
	}
	i := s.free
	if i != 0 {
		s.free = s.entries[i].chain
		return i
	}
	s.entries = append(s.entries, cached{})
	return uint32(len(s.entries) - 1)
}

// rehash makes that many chains, a power of two.
func (s *cacheShard) rehash(chains int) {
	s.chains = make([]uint32, chains)
	for i := s.entries[0].next; i != 0; i = s.entries[i].next {
		e := &s.entries[i]
		first := s.first(e.tag)
		e.chain, *first = *first, i
	}
}

// remove takes out the page of an entry, which is free then.
func (s *cacheShard) remove(i uint32) {
	s.unlink(i)
	e := &s.entries[i]
	at := s.first(e.tag)
	for *at != i {
		at = &s.entries[*at].chain
	}
	*at = e.chain
	s.room += entryMemory(e.page)
	e.page, e.chain = nil, s.free
	s.free = i
	s.used--
}

func (s *cacheShard) link(i uint32) {
	e, ends := &s.entries[i], &s.entries[0]
	e.prev, e.next = 0, ends.next
	s.entries[e.next].prev, ends.next = i, i
}

func (s *cacheShard) unlink(i uint32) {
	e := &s.entries[i]
	s.entries[e.prev].next, s.entries[e.next].prev = e.next, e.prev
}

// entryMemory is what a page takes with its entry and its part of the index, both
// of which grow by doubling.
func entryMemory(pg *page) int {
	return pg.memory() + 2*int(unsafe.Sizeof(cached{})+unsafe.Sizeof(uint32(0)))
}

// Bytes returns about how many bytes the cached pages take.
func (c *Cache) Bytes() (n int) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for i := s.entries[0].next; i != 0; i = s.entries[i].next {
			n += entryMemory(s.entries[i].page)
		}
		s.mu.Unlock()
	}
	return n
}
