package exchange_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/namespace/envelope"
	"github.com/stoadb/stoa/namespace/exchange"
)

const preface = "stoa sync 1\n"

// framed is a message in one frame.
func framed(kind byte, body ...byte) []byte {
	return append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(body)+1)), kind), body...)
}

// greeting is what a peer says first, and done what ends each turn.
var (
	greeting = slicesConcat([]byte(preface), framed(1, append([]byte{2, 0}, make([]byte, 32)...)...), done)
	done     = framed(16)
)

func slicesConcat(all ...[]byte) []byte { return bytes.Join(all, nil) }

// against has a node have a session with a peer that says some bytes, and no more: what follows its
// greeting once the node has greeted too, as a turn begins only after both have ended the one before.
func against(t testing.TB, n *node, said []byte) (*exchange.Report, error) {
	t.Helper()
	left, right := net.Pipe()
	greeted := make(chan struct{})
	go func() {
		_, err := io.ReadFull(right, make([]byte, len(preface)))
		for kind := byte(0); err == nil && kind != done[4]; {
			kind, _, err = nextFrame(right)
		}
		close(greeted)
		_, _ = io.Copy(io.Discard, right)
	}()
	go func() {
		if rest, ok := bytes.CutPrefix(said, greeting); ok {
			_, _ = right.Write(greeting)
			<-greeted
			said = rest
		}
		_, _ = right.Write(said)
	}()
	r, err := exchange.Run(bg, left, n.Stores, exchange.Options{Initiator: true, Idle: time.Minute})
	_ = right.Close()
	return r, err
}

// nextFrame reads a frame.
func nextFrame(r io.Reader) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	body = make([]byte, binary.LittleEndian.Uint32(head[:])-1)
	_, err = io.ReadFull(r, body)
	return head[4], body, err
}

// What is no session ends it, with what was wrong of it.
func TestAPeerThatKeepsToNoProtocolIsHungUpOn(t *testing.T) {
	nodes := begin(t, 1, "alice")
	alice := nodes[0]
	defer alice.close()
	require.NoError(t, alice.commit(contextOf(0), "a", "1"))
	none := framed(2)
	for name, said := range map[string][]byte{
		`it begins with "GET / HTTP/1": it`:        []byte("GET / HTTP/1.1\r\n\r\n"),
		"a frame of 0 bytes":                       slicesConcat([]byte(preface), make([]byte, 5)),
		"a frame of 4294967295 bytes":              slicesConcat([]byte(preface), bytes.Repeat([]byte{0xFF}, 5)),
		"a message of kind 4, out of turn":         slicesConcat([]byte(preface), framed(4, 1)),
		"a message of kind 1 goes on as one of 2":  slicesConcat([]byte(preface), framed(0x81, 1), framed(2, 1)),
		"a message of more than":                   slicesConcat([]byte(preface), bytes.Repeat(framed(0x81, make([]byte, 1<<20-1)...), 6)),
		"both have called":                         slicesConcat([]byte(preface), framed(1, append([]byte{1, 0}, make([]byte, 32)...)...)),
		"two greetings":                            slicesConcat([]byte(preface), framed(1, append([]byte{2, 0}, make([]byte, 32)...)...), framed(1, append([]byte{2, 0}, make([]byte, 32)...)...)),
		"role":                                     slicesConcat([]byte(preface), framed(1)),
		"1 bytes after the end of a turn":          slicesConcat([]byte(preface), framed(16, 1)),
		"namespaces in 31 bytes":                   slicesConcat(greeting, framed(2, make([]byte, 31)...)),
		"not in ascending order":                   slicesConcat(greeting, framed(2, make([]byte, 64)...)),
		"it took in more than was sent":            slicesConcat(greeting, framed(17, 1, 0, 0, 0)),
		"what was taken, in 3 bytes":               slicesConcat(greeting, framed(17, 1, 0, 0)),
		`the peer ended the session: "why\x1bnot"`: slicesConcat(greeting, framed(18, []byte("why\x1bnot")...)),
		"namespaces in 0 bytes, or twice":          slicesConcat(greeting, none, none),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := against(t, alice, said)
			if len(said) > 5 && bytes.Contains(said, []byte("why")) {
				require.ErrorIs(t, err, exchange.ErrPeer)
			} else {
				require.ErrorIs(t, err, exchange.ErrProtocol)
			}
			require.ErrorContains(t, err, name[:min(len(name), 29)])
		})
	}
}

// duplex is the stream of a command's stdin and stdout.
type duplex struct {
	io.Reader
	io.Writer
	close func() error
}

func (d duplex) Close() error { return d.close() }

// commandPipes returns the two ends of a pair of pipes of the system.
func commandPipes(t *testing.T) (left, right duplex) {
	r1, w1, err := os.Pipe()
	require.NoError(t, err)
	r2, w2, err := os.Pipe()
	require.NoError(t, err)
	both := func(a, b *os.File) func() error { return func() error { return errors.Join(a.Close(), b.Close()) } }
	return duplex{r1, w2, both(r1, w2)}, duplex{r2, w1, both(r2, w1)}
}

// Two that have called each other both learn that, whoever is first to hear the other: a peer is
// greeted before it is left.
func TestTwoThatCallEachOtherBothLearnIt(t *testing.T) {
	nodes := begin(t, 1, "alice", "bob")
	defer nodes[0].close()
	defer nodes[1].close()
	for range 300 {
		left, right := commandPipes(t)
		other := make(chan error, 1)
		go func() {
			_, err := exchange.Run(bg, right, nodes[1].Stores, exchange.Options{Initiator: true})
			other <- err
		}()
		_, err := exchange.Run(bg, left, nodes[0].Stores, exchange.Options{Initiator: true})
		for _, err := range []error{err, <-other} {
			require.ErrorIs(t, err, exchange.ErrProtocol)
			require.ErrorContains(t, err, "both have called")
		}
	}
}

// A peer that says nothing, or stops in the middle, is hung up on after a while.
func TestASilentPeerIsHungUpOn(t *testing.T) {
	for _, said := range [][]byte{nil, []byte(preface)[:4], greeting} {
		synctest.Test(t, func(t *testing.T) {
			nodes := begin(t, 1, "alice")
			defer nodes[0].close()
			start := time.Now()
			_, err := against(t, nodes[0], said)
			require.ErrorIs(t, err, exchange.ErrStalled)
			require.Equal(t, time.Minute, time.Since(start))
		})
	}
}

// between changes what goes from one node to the other, message by message: those that fn returns
// go in the place of each.
func between(t *testing.T, a, b *node, fn func(kind byte, body []byte) [][]byte) sides {
	t.Helper()
	left, middle1 := net.Pipe()
	middle2, right := net.Pipe()
	go func() {
		_, _ = io.Copy(middle1, middle2)
		_ = middle1.Close()
	}()
	go func() {
		defer middle2.Close()
		b := make([]byte, len(preface))
		if _, err := io.ReadFull(middle1, b); err != nil {
			return
		}
		_, _ = middle2.Write(b)
		for {
			kind, body, err := nextFrame(middle1)
			if err != nil {
				return
			}
			for _, m := range fn(kind, body) {
				if _, err := middle2.Write(m); err != nil {
					return
				}
			}
		}
	}()
	return meetOver(t, a, b, left, right)
}

func same(kind byte, body []byte) [][]byte { return [][]byte{framed(kind, body...)} }

// A proof is of one session, one side, one namespace and one key: whoever changes a bit of what it is
// over has proved nothing.
func TestAProofThatIsNotSignedEndsTheSession(t *testing.T) {
	for at := range 97 {
		nodes := begin(t, 1, "alice", "bob")
		alice, bob := nodes[0], nodes[1]
		changed := false
		s := between(t, alice, bob, func(kind byte, body []byte) [][]byte {
			if kind == 3 && body[0] == 1 && !changed {
				changed = true
				body[at] ^= 2
			}
			return same(kind, body)
		})
		require.True(t, changed)
		require.ErrorIs(t, s.errB, exchange.ErrProtocol)
		require.ErrorIs(t, s.errA, exchange.ErrPeer)
		for _, n := range s.b.Namespaces {
			require.Zero(t, n.Sent)
		}
		alice.close()
		bob.close()
	}
}

// What somebody on the way changes is refused, and what he keeps back is missing; neither does harm.
func TestWhatIsChangedOnTheWayIsRefused(t *testing.T) {
	for name, change := range map[string]func(n int, kind byte, body []byte) [][]byte{
		"an op": func(n int, kind byte, body []byte) [][]byte {
			if kind == 4 && n == 2 {
				body[len(body)-1] ^= 1
			}
			return same(kind, body)
		},
		"an envelope": func(n int, kind byte, body []byte) [][]byte {
			if kind == 7 && n == 5 {
				body[len(body)/2] ^= 1
			}
			return same(kind, body)
		},
		"no envelope": func(n int, kind byte, body []byte) [][]byte {
			if kind == 7 && n == 5 {
				return nil
			}
			return same(kind, body)
		},
		"twice": func(_ int, kind byte, body []byte) [][]byte {
			if kind == 4 || kind == 7 {
				return append(same(kind, body), same(kind, body)...)
			}
			return same(kind, body)
		},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := begin(t, 1, "alice", "bob")
			alice, bob := nodes[0], nodes[1]
			defer alice.close()
			defer bob.close()
			for i := range 10 {
				require.NoError(t, alice.commit(contextOf(0), fmt.Sprint(i), "1"))
			}
			n := map[byte]int{}
			s := between(t, alice, bob, func(kind byte, body []byte) [][]byte {
				n[kind]++
				return change(n[kind], kind, body)
			})
			if s.errB != nil { // it answers what was never sent: its room for more is used up
				require.ErrorIs(t, errors.Join(s.errA, s.errB), exchange.ErrProtocol)
			}
			level(t, alice, bob)
			require.Equal(t, "1", bob.state(contextOf(0), "9"))
		})
	}
}

// Envelopes that nobody has signed end the session.
func TestForgedEnvelopesEndTheSession(t *testing.T) {
	nodes := begin(t, 1, "alice", "bob")
	alice, bob := nodes[0], nodes[1]
	defer alice.close()
	defer bob.close()
	for i := range 10 {
		require.NoError(t, alice.commit(contextOf(0), fmt.Sprint(i), "1"))
	}
	s := between(t, alice, bob, func(kind byte, body []byte) [][]byte {
		if kind == 7 {
			body[len(body)-1] ^= 1
		}
		return same(kind, body)
	})
	require.ErrorIs(t, s.errB, exchange.ErrProtocol)
	require.ErrorContains(t, s.errB, "that nobody has signed")
	require.ErrorIs(t, s.errA, exchange.ErrPeer)
	require.Empty(t, bob.heads(contextOf(0)))
}

// Who is no member learns nothing but that something is there, though it knows the namespace's id.
func TestAStrangerGetsNothing(t *testing.T) {
	nodes := begin(t, 1, "alice")
	alice, eve := nodes[0], newNode(t, "eve", nodes[0].ns)
	defer alice.close()
	defer eve.close()
	require.NoError(t, alice.commit(contextOf(0), "a", "1"))
	s := meet(t, alice, eve)
	require.NoError(t, s.errA)
	require.NoError(t, s.errB)
	require.True(t, s.a.Namespaces[0].Stranger)
	require.Zero(t, s.b.Namespaces[0].Stored)
	heads, err := eve.Governance.Heads(bg, alice.ns)
	require.NoError(t, err)
	require.Empty(t, heads)
	s = meet(t, alice, eve, func(o *exchange.Options) { o.Anyone = true })
	require.NoError(t, errors.Join(s.errA, s.errB))
	require.Positive(t, s.b.Namespaces[0].Stored, "a copy is given all")

	other := newNode(t, "mallory", codec.GroupID{})
	defer other.close()
	s = meet(t, alice, other)
	require.NoError(t, errors.Join(s.errA, s.errB))
	require.Empty(t, s.a.Namespaces, "who does not know the id is told of nothing")
	require.EqualValues(t, 2, s.b.Turns)
}

// A member who says more than there is memory for, all of it signed and on top of what nobody has, is
// borne with, in bounded memory, and nothing of it stays.
func TestAMemberWhoFloodsTakesBoundedMemory(t *testing.T) {
	nodes := begin(t, 1, "alice", "mallory")
	alice, mallory := nodes[0], nodes[1]
	defer alice.close()
	defer mallory.close()
	level(t, alice, mallory)
	const n = 80
	c := contextOf(0)
	value := string(bytes.Repeat([]byte("x"), 900_000))
	for i := range n {
		require.NoError(t, mallory.commit(c, fmt.Sprint(i), value))
	}
	by, err := mallory.Governance.Author(bg, mallory.ns, c)
	require.NoError(t, err)
	said := 0
	runtime.GC()
	var before, stats runtime.MemStats
	runtime.ReadMemStats(&before)
	peak := uint64(0)
	s := between(t, mallory, alice, func(kind byte, body []byte) [][]byte {
		if kind != 7 {
			return same(kind, body)
		}
		said++
		at := envelope.Place{Cut: by.Cut, KeyOp: by.KeyOp, Parents: []codec.EnvelopeID{{1, byte(said)}}}
		d := &dag.Delta{Context: c, Parents: []codec.DeltaID{{1}}, HLC: codec.HybridTimestamp{Time: uint64(hlc.ToNTP64(now))}}
		d.HLC.ID, _ = envelope.Node(idOf("mallory"), c, at)
		var e *envelope.Envelope
		for length := len(value); e == nil || len(e.Bytes()) > len(body)-4; length -= len(e.Bytes()) - len(body) + 4 {
			d.Actions = []codec.Action{put("k", value[:length])}
			var err error
			if e, err = envelope.Seal(d, at, by.Key, seedOf("mallory")); err != nil {
				return nil
			}
		}
		if said%10 == 0 {
			runtime.GC() // what waits to be collected is not taken
			runtime.ReadMemStats(&stats)
			peak = max(peak, stats.HeapAlloc)
		}
		return same(kind, append(body[:4:4], e.Bytes()...))
	})
	require.NoError(t, errors.Join(s.errA, s.errB))
	require.GreaterOrEqual(t, said, n)
	require.GreaterOrEqual(t, s.b.Namespaces[0].Contexts[0].Waits, n)
	require.Less(t, int64(peak)-int64(before.HeapAlloc), int64(3*exchange.Memory), "of %d bytes", s.b.Received)
	require.Greater(t, s.b.Received, int64(2*n*900_000), "it is asked for what it says it has")
	require.Empty(t, alice.heads(c))
}

// heavy returns a node with more than there is room for on the other side, and one that has nothing.
func heavy(t *testing.T) (alice, bob *node) {
	nodes := begin(t, 1, "alice", "bob")
	for i := range 30 {
		require.NoError(t, nodes[0].commit(contextOf(0), fmt.Sprint(i), string(bytes.Repeat([]byte{byte(i)}, 500_000))))
	}
	return nodes[0], nodes[1]
}

func TestWhatTakesMoreThanThereIsRoomForGoesOnAsItIsTakenIn(t *testing.T) {
	alice, bob := heavy(t)
	defer alice.close()
	defer bob.close()
	s := level(t, alice, bob)
	require.Greater(t, s.b.Received, int64(14_000_000))
	require.Less(t, s.b.Received, int64(16_000_000))
}

func TestAPeerThatGivesNoRoomIsHungUpOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alice, bob := heavy(t)
		defer alice.close()
		defer bob.close()
		s := between(t, bob, alice, func(kind byte, body []byte) [][]byte {
			if kind == 17 {
				return nil
			}
			return same(kind, body)
		})
		require.Error(t, s.errA)
		require.Error(t, s.errB)
		require.ErrorIs(t, errors.Join(s.errA, s.errB), exchange.ErrStalled, "by one of the two: both wait")
	})
}

// Who goes on to the next turn before the other is done with this one is hung up on, and not waited for.
func TestAPeerThatGoesOnTooSoonIsHungUpOn(t *testing.T) {
	alice, bob := heavy(t)
	defer alice.close()
	defer bob.close()
	turns := 0
	s := between(t, bob, alice, func(kind byte, body []byte) [][]byte {
		if kind == 17 {
			return nil
		}
		if kind == 16 {
			if turns++; turns > 2 {
				return append(same(kind, body), framed(16))
			}
		}
		return same(kind, body)
	})
	require.Error(t, s.errB)
	require.NotErrorIs(t, s.errB, exchange.ErrStalled)
}
