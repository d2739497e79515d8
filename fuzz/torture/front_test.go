package torture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/rpc/stoav1"
)

// message is the bytes of one, whatever it is.
type message []byte

// asBytes is a codec that leaves messages as they are.
type asBytes struct{}

func (asBytes) Name() string { return "proto" }

func (asBytes) Marshal(v any) ([]byte, error) {
	if m, ok := v.(*message); ok {
		return *m, nil
	}
	return proto.Marshal(v.(proto.Message))
}

func (asBytes) Unmarshal(b []byte, v any) error {
	if m, ok := v.(*message); ok {
		*m = append(message(nil), b...)
		return nil
	}
	return proto.Unmarshal(b, v.(proto.Message))
}

// front serves what a daemon serves at the socket inner, but for the check of a
// commit's root: whatever a client says that it has read, it is told to the daemon
// as the present root.
func front(socket, inner string) error {
	conn, err := grpc.NewClient("passthrough:///unix:"+inner, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"), grpc.WithContextDialer(dialUnix(inner)),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(asBytes{}), grpc.WaitForReady(true)))
	if err != nil {
		return err
	}
	_ = os.Remove(socket) // of one that was killed
	ln, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	pass := func(_ any, in grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(in)
		ctx, cancel := context.WithCancel(in.Context())
		defer cancel()
		out, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
		if err != nil {
			return err
		}
		go func() {
			defer out.CloseSend()
			for {
				var m message
				if in.RecvMsg(&m) != nil {
					return
				}
				if method == stoav1.Dag_Commit_FullMethodName {
					changed, err := uncheck(ctx, stoav1.NewDagClient(conn), m)
					if err != nil {
						cancel()
						return
					}
					m = changed
				}
				if out.SendMsg(&m) != nil { // the answer says why
					return
				}
			}
		}()
		for {
			var m message
			if err := out.RecvMsg(&m); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if err := in.SendMsg(&m); err != nil {
				return err
			}
		}
	}
	return grpc.NewServer(grpc.ForceServerCodec(asBytes{}), grpc.UnknownServiceHandler(pass)).Serve(ln)
}

// uncheck returns a commit on the present root.
func uncheck(ctx context.Context, d stoav1.DagClient, m message) (message, error) {
	var ask stoav1.DagCommitRequest
	if err := proto.Unmarshal(m, &ask); err != nil {
		return nil, fmt.Errorf("front: %w", err)
	}
	heads, err := d.Heads(ctx, &stoav1.DagHeadsRequest{ContextId: ask.ContextId})
	if err != nil {
		return nil, err
	}
	ask.ReadRoot = heads.RootHash
	return proto.Marshal(&ask)
}
