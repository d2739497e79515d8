package merkle

import (
	"encoding/binary"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/enginetest"
)

// numberedHash returns one of few hashes, of which many begin alike.
func numberedHash(n int) (h codec.Hash) {
	binary.BigEndian.PutUint32(h[28:], uint32(n))
	binary.BigEndian.PutUint32(h[4:], uint32(n/7))
	return h
}

// used is what a model of a shard knows, the page used last first.
type usedPages []cacheKey

func (u usedPages) without(k cacheKey) usedPages {
	return slices.DeleteFunc(u, func(o cacheKey) bool { return o == k })
}

// Whatever is put, asked for and dropped, a cache has what was used last, as a
// plain list of each shard has it, and no more than there is room for.
func TestTheCacheKeepsWhatWasUsedLast(t *testing.T) {
	each := entryMemory(&page{})
	enginetest.Check(t, 200, func(t *rapid.T) {
		perShard := rapid.SampledFrom([]int{0, 1, 2, 3, 20}).Draw(t, "pages in a shard")
		c := NewCache(max(perShard*each*cacheShards, 1))
		shards, pages := map[*cacheShard]usedPages{}, map[cacheKey]*page{}
		draw := func(t *rapid.T) (cacheKey, *cacheShard) {
			k := cacheKey{numberedHash(rapid.IntRange(0, 600).Draw(t, "hash")), uint8(rapid.IntRange(0, 2).Draw(t, "depth"))}
			s, _ := c.locate(&k)
			s.mu.Unlock()
			return k, s
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				for range 20 {
					k, s := draw(t)
					pg := &page{hash: k.hash}
					c.put(pg, k.depth)
					if perShard == 0 || slices.Contains(shards[s], k) {
						continue
					}
					pages[k] = pg
					shards[s] = slices.Insert(shards[s], 0, k)
					shards[s] = shards[s][:min(perShard, len(shards[s]))]
				}
			},
			"get": func(t *rapid.T) {
				k, s := draw(t)
				if !slices.Contains(shards[s], k) {
					require.Nil(t, c.get(k.hash, k.depth))
					return
				}
				require.Same(t, pages[k], c.get(k.hash, k.depth))
				shards[s] = slices.Insert(shards[s].without(k), 0, k)
			},
			"drop": func(t *rapid.T) {
				k, s := draw(t)
				c.drop(k.hash, k.depth)
				shards[s] = shards[s].without(k)
			},
			"": func(t *rapid.T) {
				n := 0
				for i := range c.shards {
					s := &c.shards[i]
					n += len(shards[s])
					require.Equal(t, len(shards[s]), s.used)
				}
				require.Equal(t, n*each, c.Bytes())
			},
		})
	})
}

func TestAReplacedPageTakesNoMemoryInTheCache(t *testing.T) {
	c := NewCache(0)
	pages := make([]*page, 4000)
	for i := range pages {
		pages[i] = &page{hash: numberedHash(i)}
		c.put(pages[i], 1)
	}
	i := 0
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		c.drop(pages[i].hash, 1)
		c.put(pages[i], 1)
		i++
	}))
}

func TestACacheIsForManyGoroutines(t *testing.T) {
	c := NewCache(cacheShards * 8 * entryMemory(&page{}))
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 5000 {
				h := numberedHash((i*7 + g*13) % 300)
				if pg := c.get(h, 1); pg != nil && pg.hash != h {
					t.Errorf("the page of %s for %s", pg.hash, h)
				}
				c.put(&page{hash: h}, 1)
				if i%3 == g%3 {
					c.drop(h, 1)
				}
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, c.Bytes(), cacheShards*8*entryMemory(&page{}))
}
