package enginetest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

const writers = 64

var contention = []promise{
	{"increments that compare and swap add up", func(t *trial) {
		n := Scale(8)
		t.put(t.col, "counter", string(make([]byte, 8)))
		t.together(writers, func(int) error {
			for range n {
				if err := t.increment(); err != nil {
					return err
				}
			}
			return nil
		})
		got, err := t.db.Get(nil, t.col, t.key("counter"))
		require.NoError(t, err)
		require.EqualValues(t, writers*n, binary.BigEndian.Uint64(got))
	}},
	{"of writers that want the same absent key one wins", func(t *trial) {
		for round := range Scale(20) {
			var mu sync.Mutex
			var won []int
			t.together(16, func(i int) error {
				b := batch()
				b.ExpectAbsent(t.col, t.key(fmt.Sprint(round)))
				b.Put(t.col, t.key(fmt.Sprint(round)), []byte{byte(i)})
				err := t.db.Apply(b)
				if errors.Is(err, engine.ErrConflict) {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				won = append(won, i)
				return err
			})
			require.Len(t, won, 1)
			t.requireValue(t.db, t.col, fmt.Sprint(round), string([]byte{byte(won[0])}))
		}
	}},
	{"the writes of many are all made, synced or not", func(t *trial) {
		n := Scale(10)
		t.together(writers, func(i int) error {
			for j := range n {
				b := &engine.Batch{Durability: engine.Durability(i % 2)}
				b.Put(t.col, t.key(fmt.Sprintf("%03d-%05d", i, j)), []byte{byte(i), byte(j)})
				if err := t.db.Apply(b); err != nil {
					return err
				}
				got, err := t.db.Get(nil, t.col, t.key(fmt.Sprintf("%03d-%05d", i, j)))
				if err != nil || string(got) != string([]byte{byte(i), byte(j)}) {
					return fmt.Errorf("own write %d-%d read back as %x, %v", i, j, got, err)
				}
			}
			return nil
		})
		require.Len(t, t.list(t.db, t.col, t.bounds("", "")), writers*n)
	}},
	{"no reader sees a part of a batch", func(t *trial) {
		t.putPair(0)
		n := Scale(300)
		t.together(6, func(i int) error {
			for j := range n {
				var err error
				if i < 2 {
					err = t.db.Apply(t.pair(uint64(i*n + j)))
				} else {
					err = t.comparePair()
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}},
}

// together runs fn in n goroutines and demands that none fails.
func (t *trial) together(n int, fn func(i int) error) {
	t.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = fn(i) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}

// increment adds one to the counter, as often as it takes.
func (t *trial) increment() error {
	for {
		v, err := t.db.Get(nil, t.col, t.key("counter"))
		if err != nil {
			return err
		}
		b := batch()
		b.Expect(t.col, t.key("counter"), v)
		b.Put(t.col, t.key("counter"), binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(v)+1))
		if err = t.db.Apply(b); !errors.Is(err, engine.ErrConflict) {
			return err
		}
	}
}

// comparePair reads what pair writes from a snapshot.
func (t *trial) comparePair() error {
	s, err := t.db.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	left, err := s.Get(nil, t.col, t.key("left"))
	if err != nil {
		return err
	}
	right, err := s.Get(nil, t.other(), t.key("right"))
	if err != nil {
		return err
	}
	if string(left) != string(right) {
		return fmt.Errorf("left is %x and right %x in one snapshot", left, right)
	}
	return nil
}
