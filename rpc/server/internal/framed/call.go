package framed

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
)

// call is a call with a goroutine of its own.
type call struct {
	conn   *connection
	id     uint64
	cancel context.CancelFunc
	stream *stream // nil: it is unary
	told   bool    // it is answered; guarded by the connection's mu
}

// request is the payload of a frame, in memory of its own.
type request struct {
	memory *[]byte
	quota  int64 // what it was admitted with
}

// own returns the payload of f as one that outlives the reader's buffer.
func own(f frame.Frame) request {
	if f.Owned != nil {
		return request{f.Owned, int64(len(f.Payload))}
	}
	b := wire.BorrowSize(len(f.Payload))
	copy(*b, f.Payload)
	return request{memory: b}
}

// counted parses r into v. From then on its bytes count where it is handled.
func (c *connection) counted(r *request, v any) error {
	c.f.o.InFlight.Give(c.nc.Peer.Account, r.quota)
	r.quota = 0
	return Parse(*r.memory, v)
}

func (c *connection) freed(r *request) {
	c.f.o.InFlight.Give(c.nc.Peer.Account, r.quota)
	wire.Return(r.memory)
	*r = request{}
}

// kept returns the payload of f as one that may wait to be taken: it counts meanwhile.
func (c *connection) kept(f frame.Frame) (request, error) {
	r := own(f)
	if r.quota > 0 {
		return r, nil
	}
	size := int64(len(*r.memory))
	if err := c.f.o.InFlight.Take(c.nc.Peer.Account, size); err != nil {
		wire.Return(r.memory)
		return request{}, err
	}
	r.quota = size
	return r, nil
}

// begin begins a call that is not short. An error refuses it, but for
// frame.ErrMalformed.
func (c *connection) begin(f frame.Frame, m *method) error {
	ends := f.Flags&frame.End != 0
	if !ends && !m.takesMany() {
		return fmt.Errorf("%w: %s takes one message, which ends the request", frame.ErrMalformed, m.Full())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[f.ID] != nil {
		return fmt.Errorf("%w: call %d is under way", frame.ErrMalformed, f.ID)
	}
	if len(c.calls) >= int(c.f.o.MaxStreams) {
		return limit.Busy(limit.WhatCalls, int64(c.f.o.MaxStreams))
	}
	k := &call{conn: c, id: f.ID}
	ctx := c.ctx
	if f.Deadline > 0 {
		ctx, k.cancel = context.WithTimeout(ctx, time.Duration(f.Deadline)*time.Millisecond)
	} else {
		ctx, k.cancel = context.WithCancel(ctx)
	}
	c.calls[f.ID] = k
	c.begun++
	if m.unary != nil {
		r := own(f)
		c.work.Add(1)
		c.f.workers.run(func() {
			defer c.work.Done()
			k.unary(ctx, m, r)
		})
		return nil
	}
	k.stream = newStream(k, ctx, f.Flags&frame.Paced != 0)
	if !ends || !m.stream.ClientStreams {
		r, err := c.kept(f)
		if err != nil {
			k.cancel()
			delete(c.calls, f.ID)
			c.begun--
			return err
		}
		k.stream.keep(r)
	}
	if ends {
		k.stream.closeInbox()
	}
	c.work.Go(func() { k.streaming(m) })
	return nil
}

// unary answers a unary call.
func (k *call) unary(ctx context.Context, m *method, r request) {
	c := k.conn
	payload, err := c.f.generated(ctx, m, func(v any) error { return c.counted(&r, v) })
	c.freed(&r)
	k.answer(payload, err)
	k.ended()
}

// generated makes a unary call by the generated code.
func (f *Server) generated(ctx context.Context, m *method, decode func(any) error) (mem.BufferSlice, error) {
	res, err := m.unary.Handler(m.service, ctx, decode, f.unary)
	if err != nil {
		return nil, err
	}
	payload, err := f.codec.Marshal(res)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return payload, nil
}

// answer answers the call, unless it is answered already.
func (k *call) answer(payload mem.BufferSlice, err error) {
	if k.claim() {
		k.conn.answer(k.id, payload, err)
		return
	}
	payload.Free()
}

// claim reports whether the call is still to be answered, which the caller does. Its place and its
// id are free before: the peer may begin another call as soon as it has the answer, also one of
// the same id, which may be before this one has ended here. What comes for this one is dropped.
func (k *call) claim() bool {
	c := k.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.told {
		return false
	}
	k.told = true
	delete(c.calls, k.id)
	return true
}

// streaming serves a stream.
func (k *call) streaming(m *method) {
	c, ss := k.conn, k.stream
	info := &grpc.StreamServerInfo{FullMethod: m.Full(), IsClientStream: m.stream.ClientStreams, IsServerStream: m.stream.ServerStreams}
	err := c.f.stream(m.service, ss, info, m.stream.Handler)
	k.cancel() // what is still being sent is not waited for
	k.answer(nil, err)
	k.ended()
	ss.drop()
}

// ended is called when a call is answered.
func (k *call) ended() {
	c := k.conn
	k.cancel()
	c.mu.Lock()
	c.begun--
	c.mu.Unlock()
	if c.flush() && c.f.isStopping() {
		c.endIfQuiet()
	}
}

// more takes a frame that is not the first of its call. What is for a call that
// has ended is dropped: the peer did not know.
func (c *connection) more(f frame.Frame) error {
	c.mu.Lock()
	k := c.calls[f.ID]
	c.mu.Unlock()
	switch {
	case k == nil:
		c.discard(f)
		return nil
	case f.Flags&frame.Cancel != 0:
		k.cancel()
		return nil
	case k.stream == nil:
		c.discard(f)
		return fmt.Errorf("%w: a message for call %d, which takes one", frame.ErrMalformed, f.ID)
	case f.Flags&frame.Credit != 0:
		k.stream.give(binary.LittleEndian.Uint32(f.Payload))
		return nil
	case f.Refused != nil:
		k.stream.fail(f.Refused)
		return nil
	case f.Flags&frame.End != 0:
		c.discard(f)
		k.stream.closeInbox()
		return nil
	}
	return k.stream.put(f)
}
