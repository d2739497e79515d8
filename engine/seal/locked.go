package seal

import (
	"fmt"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Locked returns e, whose secrets are sealed and whose key is not at hand: reading
// or writing one is engine.ErrUnsupported, and everything else is as it is.
// Scans end at the first secret.
func Locked(e engine.Engine) engine.Engine { return locked{e, lockedReader{e}} }

// LockedReader is Locked for what is only read.
func LockedReader(r engine.Reader) engine.Reader { return lockedReader{r} }

func noKey(col column.Column, key []byte) error {
	if len(key) > 1 {
		return fmt.Errorf("%w: %s %x is sealed, and the store was opened without its key (stoa serve --seal-key-file)", engine.ErrUnsupported, col, key)
	}
	return fmt.Errorf("%w: secrets of %s are sealed, and the store was opened without its key (stoa serve --seal-key-file)", engine.ErrUnsupported, col)
}

type locked struct {
	engine.Engine
	lockedReader
}

// Get appends the value of a key to dst; see [engine.Getter].
func (l locked) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	return l.lockedReader.Get(dst, col, key)
}

// MultiGet looks up keys in one state; see [engine.Reader].
func (l locked) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	return l.lockedReader.MultiGet(buf, lookups)
}

// Iterate returns an iterator over a range of a column; see [engine.Reader].
func (l locked) Iterate(col column.Column, rg engine.Range) (*engine.Iterator, error) {
	return l.lockedReader.Iterate(col, rg)
}

// Apply makes all changes of a batch, or none; see [engine.Writer].
func (l locked) Apply(b *engine.Batch) error {
	if err := refuseSecrets(b); err != nil {
		return err
	}
	return l.Engine.Apply(b)
}

// Update lets fn read and write with no other write in between; see [engine.Engine].
func (l locked) Update(fn func(engine.Getter, *engine.Batch) error) error {
	return l.Engine.Update(func(g engine.Getter, b *engine.Batch) error {
		if err := fn(lockedReader{g.(engine.Reader)}, b); err != nil {
			return err
		}
		return refuseSecrets(b)
	})
}

func refuseSecrets(b *engine.Batch) error {
	for op, err := range b.Ops {
		if err != nil {
			return err
		}
		if op.Kind == engine.KindPut && keys.Sealed(op.Column, op.Key) {
			return noKey(op.Column, op.Key)
		}
	}
	for x, err := range b.Expected {
		if err != nil {
			return err
		}
		if !x.Absent && keys.Sealed(x.Column, x.Key) {
			return noKey(x.Column, x.Key)
		}
	}
	return nil
}

// Snapshot returns the store as it is now; see [engine.Engine].
func (l locked) Snapshot() (engine.Snapshot, error) {
	s, err := l.Engine.Snapshot()
	if err != nil {
		return nil, err
	}
	return lockedSnapshot{lockedReader{s}, s}, nil
}

type lockedSnapshot struct {
	lockedReader
	closer interface{ Close() error }
}

// Close gives back the snapshot below.
func (s lockedSnapshot) Close() error { return s.closer.Close() }

type lockedReader struct{ r engine.Reader }

// Get appends the value of a key to dst; see [engine.Getter].
func (l lockedReader) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	if keys.Sealed(col, key) {
		return dst, noKey(col, key)
	}
	return l.r.Get(dst, col, key)
}

// MultiGet looks up keys in one state; see [engine.Reader].
func (l lockedReader) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	for _, k := range lookups {
		if keys.Sealed(k.Column, k.Key) {
			return buf, noKey(k.Column, k.Key)
		}
	}
	return l.r.MultiGet(buf, lookups)
}

// Iterate returns an iterator over a range of a column; see [engine.Reader].
func (l lockedReader) Iterate(col column.Column, rg engine.Range) (*engine.Iterator, error) {
	it, err := l.r.Iterate(col, rg)
	if err != nil || !hasSecrets(col, rg) {
		return it, err
	}
	return engine.NewIterator(&lockedPager{it: it, col: col}, 0), nil
}

// lockedPager ends at the first secret.
type lockedPager struct {
	it   *engine.Iterator
	col  column.Column
	page []byte
	err  error
}

// Page appends the next entries to dst; see [engine.Pager].
func (p *lockedPager) Page(dst []byte, maxEntries, maxBytes int) ([]byte, int, error) {
	if p.err != nil {
		return dst, 0, p.err
	}
	p.page = p.it.Page(p.page[:0], maxEntries, maxBytes)
	n := 0
	for rest := p.page; len(rest) > 0; n++ {
		key, value, after, ok := engine.CutEntry(rest)
		if !ok || keys.Sealed(p.col, key) {
			p.err = noKey(p.col, key)
			break
		}
		dst, rest = engine.AppendEntry(dst, key, value), after
	}
	if n == 0 && p.err == nil {
		p.err = p.it.Err()
	}
	if n == 0 {
		return dst, 0, p.err
	}
	return dst, n, nil
}

// Close gives back what the pager holds; see [engine.Pager].
func (p *lockedPager) Close() error { return p.it.Close() }
