package merkle

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Trie is the Merkle trie of the state of one context, as it is at one root: a
// 16-ary compact trie of the SHA-256 of every value by the SHA-256 of its
// app_key. What it reads it takes from a cache and from the rows of a store, and
// proves by the root; what it changes it keeps until [Trie.Write].
//
// A Trie is for one goroutine. Overlays of one Trie may be used by several, as
// long as the Trie itself is not changed. A Trie whose method returned an error
// other than ErrProof is not to be used again: open another.
type Trie struct {
	context codec.ContextID
	cache   *Cache
	store   engine.Getter
	parent  *Trie  // what this is an overlay of; nil: of the store
	past    *Cache // where pages go that are replaced; see Keep
	present *Trie  // of a trie of the past and its overlays: what it is the past of
	owner   uint64 // in the cache, of the pages whose marks it knows; 0: it knows none

	root    codec.Hash
	top     kid          // of the root page; count is 0 until it is looked at
	changed *pageChanges // since the store, or the parent; nil: none

	key, row []byte // buffers
	reads    Reads
}

// pageChange is a page that differs from what the store, or the parent, has.
type pageChange struct {
	at   Prefix
	page *page // nil: none any more
	was  kid   // the page that the store, or the parent, has there
}

// Reads count what a Trie has looked at, without its overlays.
type Reads struct {
	Rows   int // looked up in the store
	Cached int // pages found in the cache
}

// rowScope is the scope of the rows, in column Generic. It is never written to.
var rowScope = keys.MustScope("dag-trie")

// Open returns the trie of a context whose root is root, as Meta has it in
// the same state that store is in: a snapshot, or a store whose only writer of
// that context is the caller. It reads nothing yet. If the rows are of another
// root, methods fail with engine.ErrCorrupt. store must outlive the Trie; cache
// may be shared by all tries.
func Open(cache *Cache, store engine.Getter, context codec.ContextID, root codec.Hash) *Trie {
	return &Trie{context: context, cache: cache, store: store, root: root}
}

// owners counts the tries that know marks.
var owners atomic.Uint64

// OpenMarked is Open of a trie that knows the marks of its leaves: who writes a trie opens it so. What others have put
// into the cache it takes inner pages of alone, since no hash knows marks.
func OpenMarked(cache *Cache, store engine.Getter, context codec.ContextID, root codec.Hash) *Trie {
	t := Open(cache, store, context, root)
	t.owner = owners.Add(1)
	return t
}

// KeyPrefix appends what the keys of all rows of a context begin with, and of no
// others. What follows it does not depend on the context, nor do the rows.
func KeyPrefix(dst []byte, context *codec.ContextID) []byte {
	return append(append(dst, rowScope[:]...), context[:]...)
}

// Delete puts into b the removal of all rows of a context. Tries of it that
// are open are not to be used after that.
func Delete(b *engine.Batch, context codec.ContextID) {
	start := KeyPrefix(nil, &context)
	b.DeleteRange(column.Generic, start, engine.Successor(start))
}

// Context returns whose trie it is.
func (t *Trie) Context() codec.ContextID { return t.context }

// Root returns the root, with all updates so far.
func (t *Trie) Root() codec.Hash { return t.root }

// Reads returns what has been read so far.
func (t *Trie) Reads() Reads { return t.reads }

// Overlay returns a trie that is as t is now and changes apart from it. Until
// the overlay is done with, t must not be changed. It costs nothing until it is changed.
func (t *Trie) Overlay() *Trie {
	o := Open(t.cache, t.store, t.context, t.root)
	o.parent, o.top, o.past, o.present, o.owner = t, t.top, t.past, t.present, t.owner
	return o
}

// Merge moves the updates of an overlay into the trie that it was made from,
// which then has its root. The overlay is not to be used again. Merge panics if
// t is not an overlay.
func (t *Trie) Merge() {
	p := t.parent
	if p == nil {
		panic("merkle: Merge of a trie that is no overlay")
	}
	if p.changed == nil {
		p.changed, t.changed = t.changed, nil
	}
	for _, c := range t.pageChanges() {
		if p.past != nil {
			if old := p.own(&c.at); old != nil && old.page != nil {
				p.past.put(old.page, c.at.n)
			}
		}
		p.set(c)
	}
	p.root, p.top = t.root, t.top
	p.reads.Rows += t.reads.Rows
	p.reads.Cached += t.reads.Cached
	t.Discard()
}

// own returns the change of t itself at a place, nil if there is none.
func (t *Trie) own(p *Prefix) *pageChange {
	if t.changed == nil {
		return nil
	}
	if i, ok := t.changed.at[*p]; ok {
		return &t.changed.list[i]
	}
	return nil
}

// Keep has the pages that overlays replace, when they are merged into t, put into a cache, from which
// [Trie.Past] has them; nil: no more. It does not count for overlays that were made before.
func (t *Trie) Keep(past *Cache) { t.past = past }

// ErrGone is returned by a trie of the past of which a page is not to be had any more.
var ErrGone = errors.New("dag: trie: a page of the past is gone")

// Past returns the trie of the same context as it was, or might have been, at another root. Its pages are
// those that t has kept ([Trie.Keep]), those that overlays have left there ([Trie.Leave]), and those that
// the present has too; where one is missing, methods fail with [ErrGone]. Pages are found by their content, so that
// what it makes is right, or fails. It is no longer to be used when t, or the store, has changed.
func (t *Trie) Past(root codec.Hash) *Trie {
	o := Open(t.cache, t.store, t.context, root)
	o.past, o.present = t.past, t
	return o
}

// Leave puts the pages that an overlay has changed where [Trie.Past] finds them: the trie of its root is
// one of the past.
func (t *Trie) Leave() {
	for _, c := range t.pageChanges() {
		if c.page != nil && t.past != nil {
			t.past.put(c.page, c.at.n)
		}
	}
}

// pageChanges is the memory that the changes of a trie take.
type pageChanges struct {
	at     map[Prefix]int // places in list
	list   []pageChange
	bytes  int         // of the pages in list
	merged []Leaf      // a buffer,
	marks  []uint64    // another,
	bucket *bucketPage // and another, if any was wanted
}

// overlays lends memory to overlays, most of which are merged soon.
var overlays = sync.Pool{New: func() any {
	return &pageChanges{at: make(map[Prefix]int, 32), list: make([]pageChange, 0, 48)}
}}

// Discard gives back the memory that the updates of t take, unless it has grown much: to empty it costs what
// it has grown to.
// Of an overlay that nobody merges the root may be asked after that, and nothing else.
func (t *Trie) Discard() {
	c := t.changed
	if t.changed = nil; c != nil && cap(c.list) <= 256 && cap(c.merged) <= 1024 {
		c.reset()
		overlays.Put(c)
	}
}

func (c *pageChanges) reset() {
	clear(c.at)
	clear(c.list)
	c.list, c.bytes = c.list[:0], 0
}

// set notes a change. What was there before the first at that place counts.
func (t *Trie) set(c pageChange) {
	all := t.changing()
	all.bytes += c.page.memory()
	if i, ok := all.at[c.at]; ok {
		all.bytes -= all.list[i].page.memory()
		all.list[i].page = c.page
		return
	}
	all.at[c.at] = len(all.list)
	all.list = append(all.list, c)
}

// changing returns the changes, to which some will come.
func (t *Trie) changing() *pageChanges {
	if t.changed == nil {
		t.changed = overlays.Get().(*pageChanges)
	}
	return t.changed
}

// pageChanges returns the changes in order.
func (t *Trie) pageChanges() []pageChange {
	if t.changed == nil {
		return nil
	}
	return t.changed.list
}

// Unwritten returns about how many bytes the pages take that the updates of t have changed since
// [Trie.Written].
func (t *Trie) Unwritten() int {
	if t.changed == nil {
		return 0
	}
	return t.changed.bytes + len(t.changed.list)*int(unsafe.Sizeof(pageChange{}))
}

// Write puts the rows that the updates of t changed into b, in the order of the
// updates. It changes nothing in t: when b has been written, call
// [Trie.Written], else open another trie. An overlay's updates come on top of
// those of the trie that it was made from, which has to be written first, in
// the same batch or before.
func (t *Trie) Write(b *engine.Batch) {
	changes := t.pageChanges()
	for i := range changes {
		c := &changes[i]
		switch {
		case c.page != nil && hasRow(c.at.Len(), c.page.count):
			t.row = c.page.appendRow(t.row[:0])
			b.Put(column.Generic, t.rowKey(&c.at), t.row)
		case hasRow(c.at.Len(), c.was.count):
			b.Delete(column.Generic, t.rowKey(&c.at))
		}
	}
}

// Written tells t that the batch that Write filled has been written: its pages
// go to the cache and t goes on from there. It panics if t is an overlay.
func (t *Trie) Written() {
	if t.parent != nil {
		panic("merkle: Written of an overlay")
	}
	changes := t.pageChanges()
	for i := range changes {
		c := &changes[i]
		depth := uint8(c.at.Len())
		if c.was.count > 0 {
			if pg := t.cache.drop(c.was.hash, depth); pg != nil && t.past != nil {
				t.past.put(pg, depth)
			}
		}
		if c.page != nil {
			t.cache.put(c.page, depth)
		}
	}
	t.Discard()
}

// rowKey returns the key of the row at p, valid until the next call:
//
//	scope 16 ‖ context_id 32 ‖ a byte for each nibble
func (t *Trie) rowKey(p *Prefix) []byte {
	const fixed = len(keys.Scope{}) + len(codec.ContextID{})
	if t.key == nil { // most overlays read no row
		t.key = KeyPrefix(make([]byte, 0, fixed+MaxPrefix), &t.context)
	}
	t.key = t.key[:fixed]
	for i := range p.Len() {
		t.key = append(t.key, byte(p.Nibble(i)))
	}
	return t.key
}

// rootKid returns what the root page is known by.
func (t *Trie) rootKid() (kid, error) {
	if t.root == emptyRoot || t.top.count > 0 {
		return t.top, nil
	}
	var at Prefix
	pg := t.held(&at, t.root)
	if pg == nil {
		if t.present != nil {
			return kid{}, ErrGone
		}
		var err error
		if pg, err = t.readRoot(); err != nil {
			return kid{}, err
		}
		if pg.hash != t.root {
			return kid{}, t.damaged(&at, fmt.Sprintf("the rows make the root %s instead of %s", pg.hash, t.root))
		}
	}
	t.top = pg.kid()
	return t.top, nil
}

// load returns the page at p, which the level above knows as k. A row is kept in
// the cache if keep is set; if not, a bucket is good until the next is loaded.
func (t *Trie) load(p *Prefix, k kid, keep bool) (*page, error) {
	if pg := t.held(p, k.hash); pg != nil {
		return pg, nil
	}
	pg, err := t.read(p, k, keep)
	if err == nil {
		err = t.is(pg, p, k)
	}
	if err != nil {
		return nil, t.orGone(err)
	}
	return pg, nil
}

// orGone returns err, or ErrGone where rows of the present are not what a trie of the past has.
func (t *Trie) orGone(err error) error {
	if t.present != nil && errors.Is(err, engine.ErrCorrupt) {
		return ErrGone
	}
	return err
}

// is returns engine.ErrCorrupt unless pg, at p, is what the level above knows as k.
func (t *Trie) is(pg *page, p *Prefix, k kid) error {
	if pg.kid() == k {
		return nil
	}
	return t.damaged(p, fmt.Sprintf("the page of %d leaves has the hash %s, the level above has %d and %s", pg.count, pg.hash, k.count, k.hash))
}

// held returns the page at p if it is in memory, else nil.
func (t *Trie) held(p *Prefix, hash codec.Hash) *page {
	for x := t; x != nil; x = x.parent {
		if c := x.own(p); c != nil {
			return c.page
		}
	}
	var pg *page
	if now := t.present; now != nil {
		if c := now.own(p); c != nil && c.page != nil && c.page.hash == hash {
			return c.page
		}
		if t.past != nil {
			pg = t.past.get(hash, p.n)
		}
	}
	if pg == nil {
		pg = t.cache.get(hash, p.n)
		if pg != nil && t.owner != 0 && pg.kids == nil && pg.owner != t.owner {
			pg = nil
		}
	}
	if pg != nil {
		t.reads.Cached++
	}
	return pg
}

// readRoot returns the page at the root by what is in the store.
func (t *Trie) readRoot() (*page, error) {
	var at Prefix
	pg, err := t.readRow(&at, true, nil)
	if errors.Is(err, engine.ErrNotFound) {
		pg, err = t.assemble(&at)
	}
	if err == nil && pg.kids != nil && pg.count > 0 && pg.count <= rootBucket {
		err = t.damaged(&at, fmt.Sprintf("%d leaves, which fit a bucket, lie below", pg.count))
	}
	return pg, err
}

// read returns the page at p, where the level above has k, by what is in the
// store.
func (t *Trie) read(p *Prefix, k kid, keep bool) (*page, error) {
	if p.n == 0 {
		return t.readRoot()
	}
	if !hasRow(p.Len(), k.count) {
		return t.assemble(p)
	}
	var into *bucketPage
	if !keep {
		c := t.changing()
		if c.bucket == nil {
			c.bucket = new(bucketPage)
		}
		into = c.bucket
	}
	pg, err := t.readRow(p, keep, into)
	if errors.Is(err, engine.ErrNotFound) {
		err = t.damaged(p, "the row is missing")
	}
	return pg, err
}

// assemble returns the inner page at p, which has no row, from the rows below;
// a page without leaves if there are none. Where there may be many such rows it
// keeps none of them, so that one page does not push 16 out of the cache.
func (t *Trie) assemble(p *Prefix) (*page, error) {
	pg := newInner(nil)
	for i := range pg.kids {
		at := p.child(i)
		var below *page
		var err error
		if at.n < 2 {
			below, err = t.assemble(&at)
		} else if below, err = t.readRow(&at, at.n == 2, nil); errors.Is(err, engine.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		pg.kids[i] = below.kid()
	}
	if pg.seal(p); pg.count > 0 {
		t.cache.put(pg, p.n)
	}
	return pg, nil
}

// readRow returns the page whose row is at p. It returns engine.ErrNotFound if
// there is none.
func (t *Trie) readRow(p *Prefix, keep bool, into *bucketPage) (*page, error) {
	var err error
	t.reads.Rows++
	if t.row, err = t.store.Get(t.row[:0], column.Generic, t.rowKey(p)); err != nil {
		return nil, err
	}
	pg, fault := parseRow(p, t.row, into)
	if fault != "" {
		return nil, t.damaged(p, fault)
	}
	if pg.owner = t.owner; keep {
		t.cache.put(pg, p.n)
	}
	return pg, nil
}

func (t *Trie) damaged(p *Prefix, fault string) error {
	return fmt.Errorf("dag: trie: %w: %s %x: %s", engine.ErrCorrupt, column.Generic, t.rowKey(p), fault)
}
