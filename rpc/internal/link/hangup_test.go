package link

import (
	"io"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/stoadb/stoa/rpc/internal/frame"
)

// A daemon that hangs up says why, and so does what its calls fail with.
func TestCallsSayWhyTheDaemonHungUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer ln.Close()
	served := make(chan error, 1)
	go func() { served <- hangUpOnOne(ln) }()
	c, err := Dial(t.Context(), path, nil)
	require.NoError(t, err)
	err = c.Call(t.Context(), -1, 1, new(emptypb.Empty), new(emptypb.Empty))
	require.NoError(t, <-served)
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, "is lost: call 7 is under way")
	require.Equal(t, err, c.Err())
}

// hangUpOnOne greets a client, reads a call of it, and ends the connection for misuse.
func hangUpOnOne(ln net.Listener) error {
	nc, err := ln.Accept()
	if err != nil {
		return err
	}
	defer nc.Close()
	greeting := frame.Greeting{Calls: 2, Message: frame.MaxPayload, Window: frame.Window, Methods: []uint16{1}}
	if _, err := nc.Write(greeting.Append([]byte(frame.Magic))); err != nil {
		return err
	}
	if _, err := io.ReadFull(nc, make([]byte, len(frame.Magic)+frame.HeaderSize)); err != nil {
		return err
	}
	why, err := proto.Marshal(status.New(codes.InvalidArgument, "call 7 is under way").Proto())
	if err != nil {
		return err
	}
	_, err = nc.Write(append(frame.Header{Length: uint32(len(why)), Flags: frame.End | frame.Error}.Append(nil), why...))
	return err
}

// A stream whose connection is lost before its request goes out ends with an error, not as one
// that has nothing to answer.
func TestAStreamThatIsLostBeforeItAsksIsNotEmpty(t *testing.T) {
	for _, tc := range []struct {
		many bool
		sent error
	}{{false, nil}, {true, io.EOF}} {
		path := filepath.Join(t.TempDir(), "s")
		ln, err := net.Listen("unix", path)
		require.NoError(t, err)
		defer ln.Close()
		served := make(chan error, 1)
		go func() { served <- hangUpOnOne(ln) }()
		c, err := Dial(t.Context(), path, nil)
		require.NoError(t, err)
		s, err := c.Open(t.Context(), 1, tc.many)
		require.NoError(t, err)
		lost := c.Call(t.Context(), -1, 1, new(emptypb.Empty), new(emptypb.Empty))
		require.NoError(t, <-served)
		require.Equal(t, tc.sent, s.SendMsg(new(emptypb.Empty)))
		require.NoError(t, s.CloseSend())
		require.Equal(t, codes.Unavailable, status.Code(lost))
		require.Equal(t, lost, s.RecvMsg(new(emptypb.Empty)))
	}
}
