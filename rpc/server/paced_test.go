package server

import (
	"bytes"
	"context"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// beginUpload sends the first chunk of an upload, and waits until it is written.
func beginUpload(t *testing.T, d *testDaemon, id codec.BlobID, first []byte) grpc.ClientStreamingClient[stoav1.BlobPutRequest, stoav1.BlobPutResponse] {
	t.Helper()
	stream, err := stoav1.NewBlobClient(d.bare(t)).Put(context.Background())
	require.NoError(t, err)
	require.NoError(t, stream.Send(putHeader(id, nil)))
	require.NoError(t, stream.Send(putData(first)))
	require.Eventually(t, func() bool { return len(blobRows(t, d.engine)) == 1 }, patience, time.Millisecond)
	return stream
}

func TestAClientThatHangsDoesNotHoldUpOthers(t *testing.T) {
	d := start(t, nil, Options{TransferIdle: time.Second})
	content := bytesOf(2 * chunk)
	id := contentID(content)
	hanging := beginUpload(t, d, id, content[:chunk])
	_, existed, err := d.dial(t).BlobPut(t.Context(), bytes.NewReader(content), rpc.BlobPutOptions{ID: id})
	require.NoError(t, err)
	require.False(t, existed)
	err = fault.FromStatus(hanging.RecvMsg(new(stoav1.BlobPutResponse)))
	require.ErrorIs(t, err, engine.ErrClosed)
	require.ErrorContains(t, err, "waiting for 1s")
}

func TestADownloadThatNobodyReadsIsEnded(t *testing.T) {
	eng := newStub()
	d := start(t, eng, Options{TransferIdle: 100 * time.Millisecond})
	id := mustPut(t, d.blobs, bytesOf(24*chunk))
	stream, err := stoav1.NewBlobClient(d.bare(t)).Get(t.Context(), &stoav1.BlobGetRequest{BlobId: id[:]})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.NoError(t, err)
	require.Eventually(t, func() bool { return d.transfers.Used() == 0 && eng.snapshots.Load() == 0 }, patience, time.Millisecond)
	for err == nil {
		_, err = stream.Recv()
	}
	require.ErrorIs(t, fault.FromStatus(err), engine.ErrClosed)
}

func TestTransfersBeyondTheLimitAreRefusedAsBusy(t *testing.T) {
	d := start(t, nil, Options{MaxTransfers: 1})
	content := bytesOf(2 * chunk)
	stream := beginUpload(t, d, contentID(content), content[:chunk])
	c := d.dial(t)
	_, _, err := c.BlobPut(t.Context(), bytes.NewReader(content), rpc.BlobPutOptions{})
	require.ErrorIs(t, err, rpc.ErrBusy)
	_, err = c.BlobGet(t.Context(), codec.BlobID{1}, io.Discard, rpc.BlobGetOptions{})
	require.ErrorIs(t, err, rpc.ErrBusy)
	_, err = c.BlobVerify(t.Context(), blob.VerifyOptions{}, nil)
	require.ErrorIs(t, err, rpc.ErrBusy)
	require.NoError(t, stream.Send(putData(content[chunk:])))
	_, err = stream.CloseAndRecv()
	require.NoError(t, err)
	_, err = c.BlobGet(t.Context(), contentID(content), io.Discard, rpc.BlobGetOptions{})
	require.NoError(t, err)
}

func TestAnUploadCountsAmongTheRequestsUnderWay(t *testing.T) {
	d := start(t, nil, Options{MaxInFlight: uploadBytes + chunk})
	content := bytesOf(2 * chunk)
	stream := beginUpload(t, d, contentID(content), content[:chunk])
	_, _, err := d.dial(t).BlobPut(t.Context(), bytes.NewReader(nil), rpc.BlobPutOptions{})
	require.ErrorIs(t, err, rpc.ErrBusy)
	require.EqualValues(t, 1, d.transfers.Used())
	require.NoError(t, stream.Send(putData(content[chunk:])))
	_, err = stream.CloseAndRecv()
	require.NoError(t, err)
	awaitNoRequests(t, d.inFlight)
	require.Zero(t, d.transfers.Used())
}

func TestAnUploadThatGoesOnFinishesWhileTheServerDrains(t *testing.T) {
	d := start(t, nil, Options{})
	content := bytesOf(3 * chunk)
	stream := beginUpload(t, d, contentID(content), content[:chunk])
	stopped := make(chan struct{})
	go func() { defer close(stopped); d.stop() }()
	<-d.stopping
	require.NoError(t, stream.Send(putData(content[chunk:2*chunk])))
	require.NoError(t, stream.Send(putData(content[2*chunk:])))
	res, err := stream.CloseAndRecv()
	require.NoError(t, err)
	require.EqualValues(t, 3*chunk, res.GetInfo().GetSize())
	<-stopped
	require.Len(t, blobRows(t, d.engine), 4)
}

func TestAnUploadThatHangsDoesNotHoldUpADrain(t *testing.T) {
	d := start(t, nil, Options{DrainTimeout: time.Hour})
	content := bytesOf(2 * chunk)
	stream := beginUpload(t, d, contentID(content), content[:chunk])
	d.stop() // far before the drain timeout
	require.ErrorIs(t, fault.FromStatus(stream.RecvMsg(new(stoav1.BlobPutResponse))), rpc.ErrUnavailable)
	require.Empty(t, blobRows(t, d.engine))
}

// lyingBlobs is a daemon that answers with other content than was asked for.
type lyingBlobs struct {
	stoav1.UnimplementedBlobServer
	content []byte
	info    *stoav1.BlobInfo
}

func (l *lyingBlobs) Get(_ *stoav1.BlobGetRequest, stream grpc.ServerStreamingServer[stoav1.BlobGetResponse]) error {
	if err := stream.Send(&stoav1.BlobGetResponse{Part: &stoav1.BlobGetResponse_Info{Info: l.info}}); err != nil {
		return err
	}
	return stream.Send(&stoav1.BlobGetResponse{Part: &stoav1.BlobGetResponse_Data{Data: l.content}})
}

func (l *lyingBlobs) Put(stream grpc.ClientStreamingServer[stoav1.BlobPutRequest, stoav1.BlobPutResponse]) error {
	for {
		if _, err := stream.Recv(); err == io.EOF {
			return stream.SendAndClose(&stoav1.BlobPutResponse{Info: l.info})
		} else if err != nil {
			return err
		}
	}
}

func TestTheClientChecksWhatTheDaemonSays(t *testing.T) {
	path := filepath.Join(socketDir(t), "s")
	ln, err := net.Listen("unix", path)
	require.NoError(t, err)
	id := contentID([]byte("good"))
	daemon := &lyingBlobs{content: []byte("evil"), info: &stoav1.BlobInfo{BlobId: id[:], Size: 4, Chunks: 1}}
	s := grpc.NewServer()
	stoav1.RegisterBlobServer(s, daemon)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	defer func() { s.Stop(); require.NoError(t, <-served) }()
	c, err := rpc.Dial(t.Context(), path)
	require.NoError(t, err)
	defer c.Close()

	_, err = c.BlobGet(t.Context(), id, io.Discard, rpc.BlobGetOptions{})
	require.ErrorIs(t, err, engine.ErrCorrupt)
	daemon.content = []byte("goo")
	_, err = c.BlobGet(t.Context(), id, io.Discard, rpc.BlobGetOptions{})
	require.ErrorIs(t, err, engine.ErrCorrupt)
	_, err = c.BlobGet(t.Context(), codec.BlobID{1}, io.Discard, rpc.BlobGetOptions{})
	require.ErrorIs(t, err, rpc.ErrInternal)
	_, _, err = c.BlobPut(t.Context(), bytes.NewReader([]byte("other")), rpc.BlobPutOptions{})
	require.ErrorIs(t, err, blob.ErrMismatch)
	daemon.content = []byte("good")
	_, err = c.BlobGet(t.Context(), id, io.Discard, rpc.BlobGetOptions{})
	require.NoError(t, err)
}
