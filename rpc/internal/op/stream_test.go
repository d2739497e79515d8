package op

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// waits is a server that counts how often a stream waits for its client.
type waits struct {
	n    int
	gate Gate // nil: none
}

func (*waits) Admit(ctx context.Context, _ *Method, _ any) (context.Context, error) { return ctx, nil }
func (*waits) Failed(_ *Method, _ any, err error) error                             { return err }
func (w *waits) During(work func() error) error                                     { w.n++; return work() }
func (*waits) Detached(_ context.Context, work func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	return done
}

func (w *waits) Gate(context.Context) Gate { return w.gate }

func (w *waits) Paced(ctx context.Context, _ *Method, work func(context.Context, Pace) error) error {
	return work(ctx, w)
}

// sent is a stream that keeps what is sent.
type sent struct {
	grpc.ServerStream
	ctx  context.Context
	list []any
}

func (s *sent) Context() context.Context { return s.ctx }
func (s *sent) SendMsg(m any) error      { s.list = append(s.list, m); return nil }

type finding struct {
	Finding *stoav1.NamespaceFinding
	Summary *stoav1.NamespaceVerifySummary
}

// findings is a stream whose messages have an item each.
func findings(queue int) *Stream[struct{}, []byte, finding] {
	return NewStream(Method{Name: "Namespace.Verify", Role: access.Reader}, func(context.Context, struct{}, *[]byte) iter.Seq2[finding, error] {
		return func(yield func(finding, error) bool) {
			_ = yield(finding{Finding: &stoav1.NamespaceFinding{Detail: "a"}}, nil) && yield(finding{Finding: &stoav1.NamespaceFinding{Detail: "b"}}, nil) &&
				yield(finding{Summary: &stoav1.NamespaceVerifySummary{Ops: 3}}, nil)
		}
	}, func(*finding) int { return 1 }, queue)
}

func TestItemsOfWhichAMessageHasOneAreSentOneByOne(t *testing.T) {
	o := findings(10)
	o.Plan()
	h, s := new(waits), &sent{ctx: t.Context()}
	require.NoError(t, o.serve(h, struct{}{}, &stoav1.NamespaceVerifyRequest{}, s))
	require.Len(t, s.list, 3)
	require.Equal(t, "b", s.list[1].(*stoav1.NamespaceVerifyResponse).GetFinding().GetDetail())
	require.EqualValues(t, 3, s.list[2].(*stoav1.NamespaceVerifyResponse).GetSummary().GetOps())
	require.Equal(t, 3, h.n, "a client may take its time with each message")
}

// lasting is a stream that can send its last message with its end.
type lasting struct {
	sent
	last any
}

func (l *lasting) SendLast(m any) error { l.last = m; return nil }

func TestAStreamEndsWithTheItemThatIsTheLast(t *testing.T) {
	o := findings(0).EndingWith(func(f *finding) bool { return f.Summary != nil })
	o.Plan()
	s := &lasting{sent: sent{ctx: t.Context()}}
	require.NoError(t, o.serve(new(waits), struct{}{}, &stoav1.NamespaceVerifyRequest{}, s))
	require.Len(t, s.list, 2)
	require.EqualValues(t, 3, s.last.(*stoav1.NamespaceVerifyResponse).GetSummary().GetOps())

	plain := &sent{ctx: t.Context()}
	require.NoError(t, o.serve(new(waits), struct{}{}, &stoav1.NamespaceVerifyRequest{}, plain))
	require.Len(t, plain.list, 3, "where there is no way to, the end comes by itself")
}

// turnstile is a gate that counts, and refuses at a limit.
type turnstile struct {
	mu          sync.Mutex
	in          bool // a turn has begun, and not ended
	turns, held int
	most, limit int
}

var errFull = errors.New("full")

func (g *turnstile) Enter(context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.in = true
	g.turns++
	return nil
}

func (g *turnstile) Left() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.in = false
}

func (g *turnstile) Made(bytes int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held+bytes > g.limit {
		return errFull
	}
	g.held += bytes
	g.most = max(g.most, g.held)
	return nil
}

func (g *turnstile) Sent(bytes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held -= bytes
}

// TestItemsWithoutASizeGoThroughTheGate: streams that wait for their clients need not say how large
// their items are.
func TestItemsWithoutASizeGoThroughTheGate(t *testing.T) {
	o := NewStream(Method{Name: "Namespace.Verify", Role: access.Reader}, func(context.Context, struct{}, *[]byte) iter.Seq2[finding, error] {
		return func(yield func(finding, error) bool) {
			yield(finding{Summary: &stoav1.NamespaceVerifySummary{Ops: 3}}, nil)
		}
	}, nil, 0)
	o.Plan()
	gate, s := &turnstile{}, &sent{ctx: t.Context()}
	require.NoError(t, o.serve(&waits{gate: gate}, struct{}{}, &stoav1.NamespaceVerifyRequest{}, s))
	require.Len(t, s.list, 1)
	require.Equal(t, 1, gate.turns)
}

// failing is a stream whose client goes away.
type failing struct {
	sent
	after int
}

var errGone = errors.New("gone")

func (f *failing) SendMsg(m any) error {
	if f.after--; f.after < 0 {
		return errGone
	}
	return f.sent.SendMsg(m)
}

// TestItemsGoThroughTheGate draws items of all sizes, clients that go away and limits that are
// reached: what is made in turn, what counts, and that it is given back.
func TestItemsGoThroughTheGate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(1, 300), rapid.IntRange(largeItem-1, largeItem+1), rapid.IntRange(largeItem, 5*largeItem)), 0, 12).Draw(t, "sizes")
		gate := &turnstile{limit: rapid.OneOf(rapid.Just(1<<30), rapid.IntRange(0, 6*largeItem)).Draw(t, "limit")}
		broken := rapid.Bool().Draw(t, "the domain fails")
		o := NewStream(Method{Name: "Namespace.Verify", Role: access.Reader}, func(context.Context, struct{}, *[]byte) iter.Seq2[finding, error] {
			return func(yield func(finding, error) bool) {
				large := true
				for _, size := range sizes {
					if large && !gate.in {
						panic("the item is made out of turn")
					}
					if !yield(finding{Finding: &stoav1.NamespaceFinding{Detail: strings.Repeat("x", size)}}, nil) {
						return
					}
					large = size >= largeItem
				}
				if broken {
					yield(finding{}, errGone)
				}
			}
		}, func(f *finding) int { return len(f.Finding.GetDetail()) }, rapid.SampledFrom([]int{0, 100, 1 << 20}).Draw(t, "queue"))
		o.Plan()
		s := &failing{sent: sent{ctx: context.Background()}, after: rapid.IntRange(0, 20).Draw(t, "sent before it goes")}
		err := o.serve(&waits{gate: gate}, struct{}{}, &stoav1.NamespaceVerifyRequest{}, s)
		require.Zero(t, gate.held, "what was sent, dropped or refused does not count")
		require.False(t, gate.in, "the turn has ended")
		require.LessOrEqual(t, gate.most, gate.limit)
		if err == nil {
			require.Len(t, s.list, len(sizes))
			require.False(t, broken)
		} else {
			require.True(t, errors.Is(err, errGone) || errors.Is(err, errFull), "%v", err)
		}
	})
}
