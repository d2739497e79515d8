package exchange_test

import (
	"bytes"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/exchange"
)

// deliver has some packet come, or be lost.
func (s *sim) deliver() {
	if len(s.packets) == 0 {
		return
	}
	i := s.r.IntN(len(s.packets))
	p := s.packets[i]
	s.packets[i] = s.packets[len(s.packets)-1]
	s.packets = s.packets[:len(s.packets)-1]
	to := s.nodes[p.to]
	if s.chance(5) || s.apart != nil && s.apart(p.from, p.to) {
		return
	}
	s.seen.packets++
	b := p.bytes
	if s.chance(20) {
		b = bytes.Clone(b)
		b[s.r.IntN(len(b))] ^= byte(1 + s.r.IntN(255))
	}
	if p.context < 0 {
		if !to.twin {
			_, err := to.Governance.Apply(bg, b)
			require.NoError(s.t, err)
		}
		return
	}
	_, err := to.Content.Offer(bg, contextOf(p.context), [][]byte{b})
	requireAmong(s.t, err, namespace.ErrNoContext)
}

// part parts the network, or makes it whole.
func (s *sim) part() {
	s.apart = nil
	if s.chance(3) {
		return
	}
	left := make([]bool, len(s.nodes))
	for i := range left {
		left[i] = s.chance(2)
	}
	s.apart = func(a, b int) bool { return left[a] != left[b] }
}

// line is one end of a stream that may break off, or change a byte.
type line struct {
	net.Conn
	other net.Conn
	left  *atomic.Int64 // bytes until something happens
	flips bool
}

func (l *line) Write(b []byte) (int, error) {
	was := l.left.Add(-int64(len(b))) + int64(len(b))
	if was < 0 || was >= int64(len(b)) {
		return l.Conn.Write(b)
	}
	if l.flips {
		b = bytes.Clone(b)
		b[was] ^= 0x41
		return l.Conn.Write(b)
	}
	n, _ := l.Conn.Write(b[:was])
	_, _ = l.Close(), l.other.Close()
	return n, net.ErrClosed
}

// meet has two nodes have a session, which may break off; a twin has none.
func (s *sim) meet(a, b *simNode) {
	if a == b || a.twin || b.twin || s.apart != nil && s.apart(a.at, b.at) {
		return
	}
	s.seen.sessions++
	left, right := net.Pipe()
	var o []func(*exchange.Options)
	if s.chance(2) {
		o = append(o, takingBlobs)
	}
	if s.chance(2) {
		both := meetOver(s.t, a.node, b.node, left, right, o...)
		require.NoError(s.t, errors.Join(both.errA, both.errB))
		return
	}
	s.seen.broken++
	var room atomic.Int64
	room.Store(int64(s.r.IntN(1 << (4 + s.r.IntN(12)))))
	flips := s.chance(2)
	both := meetOver(s.t, a.node, b.node, &line{left, right, &room, flips}, &line{right, left, &room, flips}, o...)
	for _, err := range []error{both.errA, both.errB} {
		if err == nil || errors.Is(err, exchange.ErrProtocol) || errors.Is(err, exchange.ErrPeer) || errors.Is(err, exchange.ErrStalled) {
			continue
		}
		require.Negative(s.t, room.Load(), "%v", err)
	}
}

// copy makes a copy of what a node has.
func (s *sim) copy(n *simNode) {
	if n.copied != nil {
		require.NoError(s.t, n.copied.Close())
	}
	n.copied = mem.New()
	var b engine.Batch
	for k, v := range simRows(s.t, n.db) {
		b.Put(column.Column(k[0]), []byte(k[1:]), []byte(v))
	}
	require.NoError(s.t, n.copied.Apply(&b))
}

// simRows are all rows, by a column's number and the key.
func simRows(t *testing.T, db engine.Engine) map[string]string {
	all := map[string]string{}
	for c := range column.All {
		it, err := db.Iterate(c, engine.Range{})
		require.NoError(t, err)
		for it.Next() {
			all[string([]byte{byte(c)})+string(it.Key())] = string(it.Value())
		}
		require.NoError(t, it.Err())
		require.NoError(t, it.Close())
	}
	return all
}

// goBack has a node go on from a copy.
func (s *sim) goBack(n *simNode) {
	if n.copied == nil || n.twin {
		return
	}
	s.seen.restored++
	n.close()
	n.db, n.copied = n.copied, nil
	_, err := namespace.MarkRestored(n.db, n.clock())
	require.NoError(s.t, err)
	n.open()
}
