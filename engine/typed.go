package engine

import (
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/keys"
)

// scratch lends the buffers that keys and values pass through on their way
// into an engine, so that a read or a write allocates nothing of its own.
var scratch = sync.Pool{New: func() any { return new(buffers) }}

type buffers struct{ key, value []byte }

// keepBytes is the largest buffer that goes back to the pool, so that one large
// value does not pin its memory.
const keepBytes = 1 << 20

func (s *buffers) release() {
	if cap(s.value) <= keepBytes {
		scratch.Put(s)
	}
}

// Get returns the value stored under k. It returns ErrNotFound if there is
// none, and ErrCorrupt if the stored bytes are not a value of type V.
func Get[K keys.Key[K, V], V codec.Value[V]](r Getter, k K) (v V, err error) {
	s := scratch.Get().(*buffers)
	defer s.release()
	if s.key, err = k.AppendBinary(s.key[:0]); err != nil {
		return v, err
	}
	if s.value, err = r.Get(s.value[:0], k.Slot().Column, s.key); err != nil {
		return v, err
	}
	if v, err = v.Decode(s.value); err != nil {
		return v, corrupt(k.Slot().Column, s.key, err)
	}
	return v, nil
}

// Has reports whether something is stored under k. It does not look at the
// value.
func Has[K keys.Key[K, V], V codec.Value[V]](r Getter, k K) (bool, error) {
	s := scratch.Get().(*buffers)
	defer s.release()
	var err error
	if s.key, err = k.AppendBinary(s.key[:0]); err != nil {
		return false, err
	}
	s.value, err = r.Get(s.value[:0], k.Slot().Column, s.key)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Put stores v under k when b is applied. A key or a value that has no bytes
// makes Apply fail with the error of its package.
func Put[K keys.Key[K, V], V codec.Value[V]](b *Batch, k K, v V) {
	s := scratch.Get().(*buffers)
	defer s.release()
	if encode(s, b, k, v) {
		b.Put(k.Slot().Column, s.key, s.value)
	}
}

// Delete removes k when b is applied, whether or not it is there.
func Delete[K keys.Key[K, V], V codec.Value[V]](b *Batch, k K) {
	s := scratch.Get().(*buffers)
	defer s.release()
	if encodeKey(s, b, k) {
		b.Delete(k.Slot().Column, s.key)
	}
}

// Expect makes b fail with ErrConflict unless v is stored under k.
func Expect[K keys.Key[K, V], V codec.Value[V]](b *Batch, k K, v V) {
	s := scratch.Get().(*buffers)
	defer s.release()
	if encode(s, b, k, v) {
		b.Expect(k.Slot().Column, s.key, s.value)
	}
}

// ExpectAbsent makes b fail with ErrConflict if anything is stored under k.
func ExpectAbsent[K keys.Key[K, V], V codec.Value[V]](b *Batch, k K) {
	s := scratch.Get().(*buffers)
	defer s.release()
	if encodeKey(s, b, k) {
		b.ExpectAbsent(k.Slot().Column, s.key)
	}
}

// encode leaves the bytes of k and v in s, or an error in b.
func encode[K keys.Key[K, V], V codec.Value[V]](s *buffers, b *Batch, k K, v V) bool {
	if !encodeKey(s, b, k) {
		return false
	}
	var err error
	if s.value, err = v.AppendBinary(s.value[:0]); err != nil {
		b.Fail(err)
	}
	return err == nil
}

func encodeKey[K keys.Key[K, V], V codec.Value[V]](s *buffers, b *Batch, k K) bool {
	var err error
	if s.key, err = k.AppendBinary(s.key[:0]); err != nil {
		b.Fail(err)
	}
	return err == nil
}

// Entry is a key and its value.
type Entry[K, V any] struct {
	Key   K
	Value V
}

// Window is a part of a scan. The zero Window is all of it, in ascending order.
type Window[K any] struct {
	From, To *K   // the first key, and the first key after the last; nil: no bound
	Reverse  bool // from the last key to the first
	Limit    int  // the most entries; 0: all
}

// Scan yields the entries whose keys start with p, in the order of their keys.
// It ends after an error: ErrCorrupt, with column and key, if a row does not
// parse, or what the engine returned.
func Scan[K keys.Key[K, V], V codec.Value[V]](r Reader, p keys.Prefix[K]) iter.Seq2[Entry[K, V], error] {
	return ScanWindow[K, V](r, p, Window[K]{})
}

// ScanWindow is Scan over a part of the keys that start with p.
func ScanWindow[K keys.Key[K, V], V codec.Value[V]](r Reader, p keys.Prefix[K], w Window[K]) iter.Seq2[Entry[K, V], error] {
	return func(yield func(Entry[K, V], error) bool) {
		var e Entry[K, V]
		rg, err := window[K, V](p, w)
		if err != nil {
			yield(e, err)
			return
		}
		col := e.Key.Slot().Column
		it, err := r.Iterate(col, rg)
		if err != nil {
			yield(e, err)
			return
		}
		defer it.Close()
		for it.Next() {
			if e.Key, err = e.Key.Parse(it.Key()); err == nil {
				e.Value, err = e.Value.Decode(it.Value())
			}
			if err != nil {
				yield(Entry[K, V]{}, corrupt(col, it.Key(), err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := it.Err(); err != nil {
			yield(Entry[K, V]{}, err)
		}
	}
}

// window returns the range of the keys that start with p and lie in w.
func window[K keys.Key[K, V], V codec.Value[V]](p keys.Prefix[K], w Window[K]) (Range, error) {
	rg := Prefixed(p.AppendTo(nil))
	rg.Reverse, rg.Limit = w.Reverse, w.Limit
	for _, bound := range []struct {
		at  *K
		set *[]byte
		low bool
	}{{w.From, &rg.Start, true}, {w.To, &rg.End, false}} {
		if bound.at == nil {
			continue
		}
		b, err := (*bound.at).AppendBinary(nil)
		if err != nil {
			return Range{}, err
		}
		*bound.set = narrower(*bound.set, b, bound.low)
	}
	return rg, nil
}

// narrower returns the bound that leaves fewer keys.
func narrower(bound, with []byte, low bool) []byte {
	if bound == nil || (string(with) > string(bound)) == low {
		return with
	}
	return bound
}

func corrupt(col fmt.Stringer, key []byte, err error) error {
	return fmt.Errorf("%w: %s %x: %w", ErrCorrupt, col, key, err)
}
