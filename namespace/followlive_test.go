package namespace_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

// listener follows a group, and takes down what it is told.
type listener struct {
	g    codec.GroupID
	from uint64
	end  chan struct{} // closed when it follows no more

	mu       sync.Mutex
	last     uint64
	gap      bool
	verdicts map[codec.OpID]group.Verdict
	changes  int
}

func listen(ctx context.Context, s *namespace.Store, g codec.GroupID, from uint64) *listener {
	l := &listener{g: g, from: from, last: from, end: make(chan struct{}), verdicts: map[codec.OpID]group.Verdict{}}
	go func() {
		defer close(l.end)
		for e, err := range s.Follow(ctx, g, from, true) {
			if err != nil {
				return
			}
			l.hear(e)
		}
	}()
	return l
}

func (l *listener) hear(e namespace.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Entry != nil {
		l.gap = l.gap || e.Entry.Seq != l.last+1
		l.last = e.Entry.Seq
		l.verdicts[e.Entry.ID] = e.Entry.Verdict
		return
	}
	l.changes++
	l.verdicts[e.Change.Op] = e.Change.New
}

// knows reports whether l has heard of all entries after where it began, and has no
// verdict on any op of the log but the present one.
func (l *listener) knows(log []namespace.Entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != max(uint64(len(log)), l.from) {
		return false
	}
	for _, e := range log {
		v, told := l.verdicts[e.ID]
		if told && v != e.Verdict || !told && e.Seq > l.from {
			return false
		}
	}
	return true
}

// keepUp waits until l knows what is.
func (l *listener) keepUp(t require.TestingT, w *witness) {
	log := logOf(t, w, l.g)
	require.Eventually(t, func() bool { return l.knows(log) }, time.Minute, 100*time.Microsecond, "a follower of %d ops", len(log))
}

// Whoever follows while ops come in any order hears of each once, without gaps, and ends
// with the verdicts that are.
func TestFollowersEndWithWhatIs(t *testing.T) {
	base := opening(t)
	changes, histories := 0, 0
	enginetest.Check(t, 40, func(t *rapid.T) {
		histories++
		f := base.copy(t)
		for range rapid.IntRange(4, 12).Draw(t, "beside") { // each other, so that what comes late changes much
			signer := rapid.SampledFrom(cast[:3]).Draw(t, "by")
			f.in(f.ns, signer, f.drawBody(t), base.heads()[0])
		}
		f.play(t, 6)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		w := newWitness(t, f, cast[random.IntN(6)], newMem())
		for _, op := range base.ops {
			w.give(op)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		followers := []*listener{listen(ctx, w.store, f.ns, 0), listen(ctx, w.store, f.ns, 2)}
		if len(logOf(t, w, f.sub)) > 0 {
			followers = append(followers, listen(ctx, w.store, f.sub, 0))
		}
		for _, i := range random.Perm(len(f.ops) - len(base.ops)) {
			if w.give(f.ops[len(base.ops)+i]); random.IntN(2) == 0 {
				followers[0].keepUp(t, w) // so that verdicts change after it was told
			}
		}
		for _, l := range followers {
			l.keepUp(t, w)
			log := logOf(t, w, l.g)
			require.False(t, l.gap)
			changes += l.changes
			again := listener{g: l.g, from: l.from, last: l.from, verdicts: map[codec.OpID]group.Verdict{}}
			for e, err := range w.store.Follow(ctx, l.g, l.from, false) {
				require.NoError(t, err)
				again.hear(e)
			}
			require.True(t, again.knows(log))
		}
		w.close()
		for _, l := range followers {
			<-l.end // the store's end is theirs
		}
	})
	require.True(t, changes > 0 || histories < 20, "no verdict ever changes: the property says nothing of changes")
}

func logOf(t require.TestingT, w *witness, g codec.GroupID) (log []namespace.Entry) {
	for e, err := range w.store.Ops(context.Background(), g, namespace.Window{}) {
		require.NoError(t, err)
		log = append(log, e)
	}
	return log
}
