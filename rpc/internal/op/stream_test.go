package op

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// waits is a server that counts how often a stream waits for its client.
type waits struct{ n int }

func (*waits) Admit(ctx context.Context, _ *Method, _ any) (context.Context, error) { return ctx, nil }
func (*waits) Failed(_ *Method, _ any, err error) error                             { return err }
func (w *waits) During(work func() error) error                                     { w.n++; return work() }
func (*waits) Detached(_ context.Context, work func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	return done
}

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
