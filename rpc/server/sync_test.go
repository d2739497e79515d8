package server

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/exchange"
	"github.com/stoadb/stoa/rpc"
)

// carry has two daemons have a session, of which it carries the bytes.
func carry(t *testing.T, a, b *rpc.SyncSession) {
	t.Helper()
	done := make(chan error, 2)
	for _, way := range [][2]*rpc.SyncSession{{a, b}, {b, a}} {
		go func() {
			_, err := io.Copy(way[1], way[0])
			_ = way[1].CloseWrite()
			_, _ = io.Copy(io.Discard, way[0]) // the other has ended first, and this one has more to say
			done <- err
		}()
	}
	<-done
	<-done
}

func TestDaemonsHaveASession(t *testing.T) {
	everyFraming(t, func(t *testing.T, framing rpc.Framing) {
		a, b := startContent(t, framing, 1, Options{}), startContent(t, framing, 2, Options{})
		ns, _, err := a.Create(t.Context(), namespace.Create{})
		require.NoError(t, err)
		joined(t, a.govDaemon, b.govDaemon, ns)
		a.propose(t, ns, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: room})
		_, err = a.commit(t, "a", "1")
		require.NoError(t, err)
		said := 0
		first, err := a.client.Sync(t.Context(), rpc.SyncOptions{Initiator: true, Progress: func(*exchange.Report) { said++ }})
		require.NoError(t, err)
		second, err := b.client.Sync(t.Context(), rpc.SyncOptions{Namespaces: []codec.GroupID{ns}, Contexts: []codec.ContextID{room}})
		require.NoError(t, err)
		carry(t, first, second)
		ofA, err := first.Report()
		require.NoError(t, err)
		ofB, err := second.Report()
		require.NoError(t, err)
		require.Positive(t, said)
		require.Equal(t, ofA.Sent, ofB.Received)
		require.True(t, ofB.Namespaces[0].Level)
		require.Equal(t, exchange.ContextReport{ID: room, Sent: 1, Level: true}, ofA.Namespaces[0].Contexts[0])
		value, err := b.dag.State(t.Context(), room, []byte("a"))
		require.NoError(t, err)
		require.Equal(t, "1", string(value))
		require.NoError(t, first.Close())
		require.NoError(t, second.Close())
		awaitNoRequests(t, a.inFlight)

		// What is no session ends with an error that says so, and with what went until then.
		odd, err := a.client.Sync(t.Context(), rpc.SyncOptions{Initiator: true})
		require.NoError(t, err)
		_, err = odd.Write([]byte("HTTP/1.1 400 Bad Request\r\n"))
		require.NoError(t, err)
		_, err = io.ReadAll(odd)
		require.ErrorIs(t, err, exchange.ErrProtocol)
		require.ErrorContains(t, err, `it begins with "HTTP/1.1 400"`)
		report, err := odd.Report()
		require.ErrorIs(t, err, exchange.ErrProtocol)
		require.EqualValues(t, 12, report.Received)
		_, err = odd.Read(make([]byte, 1))
		require.ErrorIs(t, err, exchange.ErrProtocol, "it stays ended")

		gone, err := a.client.Sync(t.Context(), rpc.SyncOptions{})
		require.NoError(t, err)
		require.NoError(t, gone.CloseWrite())
		_, err = io.ReadAll(gone)
		require.ErrorIs(t, err, exchange.ErrPeer)
	})
}

// A line on which a session breaks off again and again brings daemons level all the same: what came is
// there, and does not go again.
func TestDaemonsMeetOverALineThatBreaks(t *testing.T) {
	a, b := startContent(t, rpc.FramingAuto, 1, Options{}), startContent(t, rpc.FramingAuto, 2, Options{})
	ns, _, err := a.Create(t.Context(), namespace.Create{})
	require.NoError(t, err)
	joined(t, a.govDaemon, b.govDaemon, ns)
	a.propose(t, ns, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: room})
	const deltas, most = 600, 64 << 10
	for i := range deltas {
		_, err := a.commit(t, fmt.Sprint(i), "1")
		require.NoError(t, err)
	}
	counts, duplicates := 0, 0
	for sessions := 1; ; sessions++ {
		require.Less(t, sessions, 20, "it gets nowhere")
		first, err := a.client.Sync(t.Context(), rpc.SyncOptions{Initiator: true})
		require.NoError(t, err)
		second, err := b.client.Sync(t.Context(), rpc.SyncOptions{})
		require.NoError(t, err)
		narrow(first, second, most, 0)
		r, err := second.Report()
		if r != nil && len(r.Namespaces) > 0 {
			for _, c := range r.Namespaces[0].Contexts {
				counts, duplicates = counts+c.Counts, duplicates+c.Duplicates
			}
		}
		require.NoError(t, first.Close())
		require.NoError(t, second.Close())
		if err == nil {
			require.Greater(t, sessions, 3, "the line has not broken")
			break
		}
	}
	require.Equal(t, deltas, counts)
	require.Zero(t, duplicates)
	for _, d := range []*contentDaemon{a, b} {
		awaitNoRequests(t, d.inFlight)
	}
}

// narrow carries what two sides say in pieces of a packet, of which each sixteenth takes a while, as long
// as neither has said more than most bytes; then the line breaks.
func narrow(a, b *rpc.SyncSession, most int64, takes time.Duration) {
	var ways sync.WaitGroup
	for _, way := range [][2]*rpc.SyncSession{{a, b}, {b, a}} {
		ways.Go(func() {
			for n, i, packet := int64(0), 0, make([]byte, 1500); ; i++ {
				got, err := way[0].Read(packet)
				if i%16 == 15 {
					time.Sleep(takes)
				}
				if n += int64(got); err == nil && n <= most {
					_, err = way[1].Write(packet[:got])
				}
				if err != nil || n > most {
					_ = way[1].CloseWrite()
					break
				}
			}
			_, _ = io.Copy(io.Discard, way[0])
		})
	}
	ways.Wait()
}

// Daemons exchange blobs, by frames and by gRPC, and say what went.
func TestDaemonsExchangeBlobs(t *testing.T) {
	everyFraming(t, func(t *testing.T, framing rpc.Framing) {
		a, b := startContent(t, framing, 1, Options{}), startContent(t, framing, 2, Options{})
		ns, _, err := a.Create(t.Context(), namespace.Create{})
		require.NoError(t, err)
		joined(t, a.govDaemon, b.govDaemon, ns)
		a.propose(t, ns, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: room})
		content := strings.Repeat("blob", 700_000)
		stored, _, err := a.client.BlobPut(t.Context(), strings.NewReader(content), rpc.BlobPutOptions{ID: sha256.Sum256([]byte(content))})
		require.NoError(t, err)
		attached, err := a.client.BlobAttachment(t.Context(), room, stored.ID)
		require.NoError(t, err)
		_, err = a.commit(t, string(attached.AppKey), string(attached.Value))
		require.NoError(t, err)
		first, err := a.client.Sync(t.Context(), rpc.SyncOptions{Initiator: true})
		require.NoError(t, err)
		second, err := b.client.Sync(t.Context(), rpc.SyncOptions{Blobs: uint64(len(content))})
		require.NoError(t, err)
		carry(t, first, second)
		ofA, err := first.Report()
		require.NoError(t, err)
		ofB, err := second.Report()
		require.NoError(t, err)
		require.Equal(t, exchange.BlobReport{Sent: 1}, ofA.Namespaces[0].Blobs)
		require.Equal(t, exchange.BlobReport{Stored: 1}, ofB.Namespaces[0].Blobs)
		var read bytes.Buffer
		_, err = b.client.BlobGet(t.Context(), stored.ID, &read, rpc.BlobGetOptions{})
		require.NoError(t, err)
		require.True(t, read.String() == content)
		require.NoError(t, first.Close())
		require.NoError(t, second.Close())
		_, err = b.client.BlobAttachment(t.Context(), room, codec.BlobID{1})
		require.ErrorIs(t, err, engine.ErrNotFound)
	})
}

// A slow line takes deltas and blobs both ways at once, and is slow.
func TestDaemonsMeetOverASlowLine(t *testing.T) {
	a, b := startContent(t, rpc.FramingAuto, 1, Options{}), startContent(t, rpc.FramingAuto, 2, Options{})
	ns, _, err := a.Create(t.Context(), namespace.Create{})
	require.NoError(t, err)
	joined(t, a.govDaemon, b.govDaemon, ns)
	a.propose(t, ns, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: room})
	session := func() (reports []*exchange.Report) {
		first, err := a.client.Sync(t.Context(), rpc.SyncOptions{Initiator: true, Blobs: blob.MaxSize})
		require.NoError(t, err)
		second, err := b.client.Sync(t.Context(), rpc.SyncOptions{Blobs: blob.MaxSize})
		require.NoError(t, err)
		narrow(first, second, math.MaxInt64, time.Millisecond)
		for _, s := range []*rpc.SyncSession{first, second} {
			r, err := s.Report()
			require.NoError(t, err)
			require.NoError(t, s.Close())
			reports = append(reports, r)
		}
		return reports
	}
	_, err = a.commit(t, "first", "1")
	require.NoError(t, err)
	session()
	const deltas = 100
	for i, d := range []*contentDaemon{a, b} {
		content := strings.Repeat(fmt.Sprint("blob ", i), 100_000)
		stored, _, err := d.client.BlobPut(t.Context(), strings.NewReader(content), rpc.BlobPutOptions{})
		require.NoError(t, err)
		attached, err := d.client.BlobAttachment(t.Context(), room, stored.ID)
		require.NoError(t, err)
		_, err = d.commit(t, string(attached.AppKey), string(attached.Value))
		require.NoError(t, err)
		for k := range deltas {
			_, err := d.commit(t, fmt.Sprint(i, k), "1")
			require.NoError(t, err)
		}
	}
	for _, r := range session() {
		require.Equal(t, exchange.BlobReport{Stored: 1, Sent: 1}, r.Namespaces[0].Blobs)
		require.True(t, r.Namespaces[0].Contexts[0].Level)
		require.Equal(t, deltas+1, r.Namespaces[0].Contexts[0].Counts)
	}
}
