package torture

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
)

// instant is a disk right before a file is synced, when the most is at stake.
type instant struct {
	file  string // that is about to be synced
	disk  *disk
	sure  uint64 // rows that had been acknowledged as synced, and all before them
	ended bool   // the store was shut down in order, or is being
}

// instants is a power supply that remembers instants.
type instants struct {
	power
	all   []instant // by the supervisor, until it has ended
	sure  atomic.Uint64
	ends  atomic.Bool  // the store is being shut down in order
	marks atomic.Int64 // how often the watermark was about to be synced
}

func (m *instants) note(does action, path string) injury {
	if does != callSync {
		return injury{}
	}
	name := filepath.Base(path)
	if name == "stoa.watermark" {
		m.marks.Add(1)
	}
	m.all = append(m.all, instant{file: name, disk: m.disk.clone(), sure: m.sure.Load(), ended: m.ends.Load()})
	return injury{}
}

// live writes rows, one after the other: synced ones, and after each some that are not,
// with flushes among them, until the watermark was moved twice; one, if it was.
func (m *instants) live(c *rpc.Client) error {
	n := m.sure.Load()
	for begun := n; n == begun || n < 60 || m.marks.Load() < 2 && n < 10_000; n++ { // or it is never synced
		b := engine.Batch{Durability: engine.WAL}
		if n%5 == 0 || n == begun {
			b.Durability = engine.Synced
		}
		size := []int{10, 300, 5000, 40 << 10}[m.rand.IntN(4)]
		if n >= 60 { // only time is to pass
			size = 10
		}
		engine.Put(&b, keys.ContextState{AppKey: keys.NewBytes(binary.BigEndian.AppendUint64(nil, n))}, codec.Raw(make([]byte, size)))
		if err := c.Store(context.Background()).Apply(&b); err != nil {
			return err
		}
		if b.Durability == engine.Synced {
			m.sure.Store(n + 1)
		}
		if n%16 == 8 && n < 60 {
			if err := c.Flush(context.Background()); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge opens what a cut has left of an instant: everything that was acknowledged as
// synced is there, and of the rest what came first.
func (at instant) judge(dir string) (left int, err error) {
	e, err := rocks.Open(dir, rocks.Options{MinFreeBytes: -1, CacheBytes: 1 << 20})
	if err != nil {
		return 0, err
	}
	defer e.Close()
	if e.Recovery().Clean && at.sure > 0 && !at.ended {
		return 0, errors.New("it counts as shut down in order")
	}
	it, err := e.Iterate(column.State, engine.Range{})
	if err != nil {
		return 0, err
	}
	defer it.Close()
	n := uint64(0)
	for ; it.Next(); n++ {
		if key := it.Key(); binary.BigEndian.Uint64(key[len(key)-8:]) != n {
			return 0, fmt.Errorf("row %d is missing, and one after it is there", n)
		}
	}
	if n < at.sure {
		return 0, fmt.Errorf("%d rows are there, and %d were acknowledged as synced", n, at.sure)
	}
	return len(e.Recovery().Left), it.Err()
}

// The power goes off right before a sync, at whichever: what was not synced is there in
// any part, of the log, of the manifest, of the marks beside them, and of directories.
func TestAPowerCutBeforeAnySyncLeavesAStore(t *testing.T) {
	enginetest.SkipUnderRace(t, elsewhere)
	d, seed := realDaemon(t), seedOf(t)
	m := &instants{power: power{rand: rand.New(rand.NewPCG(seed, 0)), top: shortRoot(t)}}
	m.fault = m.note
	d.args, d.start = []string{"--raw"}, m.start
	dir := filepath.Join(m.top, "db")
	for i, end := range []func(*served) error{(*served).kill, (*served).stop} {
		s, err := d.serve(dir)
		if errors.Is(err, errNoSupervisor) {
			t.Skip("SKIPPED: no power cut was made:", err)
		}
		require.NoError(t, err)
		defer s.kill() // it is dead, or something is wrong
		c, err := s.dial(rpc.FramingFrames)
		require.NoError(t, err)
		require.NoError(t, m.live(c))
		c.Close()
		m.ends.Store(i == 1)
		require.NoError(t, end(s))
		require.NoError(t, m.settle())
		m.all = append(m.all, instant{file: "the end", disk: m.disk.clone(), sure: m.sure.Load(), ended: m.ends.Load()})
	}
	holes, left := m.cutAll(t, seed)
	t.Logf("%d cuts of %d instants; %d sectors or pages lost among others, %d holes left", m.cuts, len(m.all), holes, left)
	m.checkEnd(t, dir)
}

// cutAll cuts the power at instants: at all at which a mark or a manifest is synced, and
// at some of the others.
func (m *instants) cutAll(t *testing.T, seed uint64) (holes, left int) {
	top := filepath.Join(shortRoot(t), "cut")
	others := enginetest.Scale(30)
	for i, at := range m.all {
		times := 2
		if !strings.HasPrefix(at.file, "MANIFEST") && !strings.HasPrefix(at.file, "stoa.") {
			if times = 1; m.rand.IntN(len(m.all)) >= others {
				continue
			}
		}
		for range times {
			require.NoError(t, os.RemoveAll(top))
			require.NoError(t, os.Mkdir(top, 0o700))
			c := newCut(m.rand)
			if times > 1 {
				c.data = []fate{mixed, apart}[m.rand.IntN(2)]
			}
			require.NoError(t, c.do(at.disk.clone(), top))
			m.cuts++
			n, err := at.judge(filepath.Join(top, "db"))
			require.NoError(t, err, "%s=%d: instant %d of %d, before the sync of %s, %d rows acknowledged as synced, cut %s", seedEnv, seed, i, len(m.all), at.file, at.sure, c)
			holes, left = holes+c.holes, left+n
		}
	}
	return holes, left
}

// checkEnd cuts the power after the shutdown, and drops all that was not synced: the
// marker and the watermark are there.
func (m *instants) checkEnd(t *testing.T, dir string) {
	end := m.all[len(m.all)-1]
	c := newCut(m.rand)
	c.names, c.data = lost, lost
	require.NoError(t, c.do(end.disk, m.top))
	look := func() rocks.Recovery {
		e, err := rocks.Open(dir, rocks.Options{ReadOnly: true})
		require.NoError(t, err)
		defer e.Close()
		return e.Recovery()
	}
	r := look()
	require.True(t, r.Clean, "the marker is not on disk")
	require.NoError(t, os.Remove(filepath.Join(dir, "stoa.clean")))
	require.Equal(t, r.Sequence, look().Watermark, "the watermark is not on disk")
}
