package rpc

import (
	"encoding/json"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// silent is a client of a daemon that answers every call well, with a message
// that says nothing.
func silent(t *testing.T, answer func(method string) error) *Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	require.NoError(t, err)
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		if err := answer(method); err != nil {
			return err
		}
		for {
			if err := stream.RecvMsg(new(emptypb.Empty)); err != nil || !strings.HasSuffix(method, "/Put") || !strings.Contains(method, "Blob") {
				break
			}
		}
		return stream.SendMsg(new(emptypb.Empty))
	}))
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(s.Stop)
	c, err := Dial(t.Context(), path, WithFraming(FramingGRPC))
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestTheClientClaimsNothingThatTheAnswerDoesNotSay(t *testing.T) {
	c := silent(t, func(string) error { return nil })
	k, ctx := c.KV("t"), t.Context()
	swap := kvstorage.Change{Op: kvstorage.OpSwap, Key: "k", Value: []byte("1"), Expect: kvstorage.Expect{Absent: true}}
	for name, call := range map[string]func() error{
		"kv put":       func() error { _, err := k.PutJSON(ctx, "k", json.RawMessage("1")); return err },
		"kv increment": func() error { _, err := k.Increment(ctx, "k", 1); return err },
		"kv batch":     func() error { _, err := k.Batch(ctx, []kvstorage.Change{swap}, engine.Synced); return err },
		"blob put":     func() error { _, _, err := c.BlobPut(ctx, strings.NewReader(""), BlobPutOptions{}); return err },
		"blob verify": func() error {
			_, err := c.BlobVerify(ctx, blob.VerifyOptions{}, func(blob.Damage) error { return nil })
			return err
		},
		"dag verify": func() error { _, err := c.Dag().Verify(ctx, codec.ContextID{1}); return err },
		"dag commit": func() error { _, err := c.Dag().Commit(ctx, dag.Commit{}); return err },
		"dag add":    func() error { _, err := c.Dag().Add(ctx, nil, dag.AddOptions{}); return err },
		"create":     func() error { _, _, err := c.Namespaces().Create(ctx, namespace.Create{}); return err },
		"propose": func() error {
			_, _, err := c.Namespaces().Propose(ctx, codec.GroupID{}, namespace.Proposal{})
			return err
		},
		"apply":  func() error { _, err := c.Namespaces().Apply(ctx, nil); return err },
		"admit":  func() error { _, err := c.Namespaces().Admit(ctx, nil); return err },
		"rotate": func() error { _, err := c.Groups().Rotate(ctx, codec.GroupID{}, false); return err },
		"verify": func() error { _, err := c.Namespaces().Verify(ctx, codec.GroupID{}); return err },
	} {
		require.ErrorIs(t, call(), ErrInternal, name)
	}
	d, err := k.Delete(ctx, "k")
	require.NoError(t, err)
	require.False(t, d.Existed)
	d, err = k.CompareAndDelete(ctx, "k", kvstorage.Expect{Revision: 1})
	require.NoError(t, err)
	require.False(t, d.Existed)
	r, err := k.CompareAndSwapJSON(ctx, "k", kvstorage.Expect{Absent: true}, json.RawMessage("1"))
	require.NoError(t, err)
	require.Equal(t, kvstorage.Result{Item: kvstorage.Item{Key: "k", Value: []byte("null")}}, r)
	results, err := k.Batch(ctx, nil, engine.Synced)
	require.NoError(t, err)
	require.Empty(t, results)
}

func TestADaemonThatIsOlderThanACallDoesNotSupportIt(t *testing.T) {
	c := silent(t, func(method string) error {
		return status.Error(codes.Unimplemented, "unknown method "+method)
	})
	_, err := c.KV("t").CompareAndDelete(t.Context(), "k", kvstorage.Expect{Revision: 1})
	require.ErrorIs(t, err, engine.ErrUnsupported)
	require.ErrorContains(t, err, stoav1.Kv_CompareAndDelete_FullMethodName)
}
