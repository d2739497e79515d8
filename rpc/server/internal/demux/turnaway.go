package demux

import (
	"io"
	"net"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/rpc/internal/frame"
)

// MaxTurnedAway is how many connections beyond the limit are waited for, to be told
// why they are not served. For one more the oldest is hung up on.
const MaxTurnedAway = 64

// turnAway tells a peer that may connect, and speaks frames, why it is not served,
// and hangs up. gRPC has no place for a reason before its first call: the Go client
// asks in frames for it.
func (d *Listener) turnAway(conn net.Conn, why error) {
	defer conn.Close()
	if !d.track(conn) {
		return
	}
	defer d.untrack(conn)
	d.makeRoom(conn)
	conn.SetDeadline(time.Now().Add(d.admission.Greeting))
	var begin [len(frame.Magic)]byte
	if _, err := io.ReadFull(conn, begin[:]); err == nil && string(begin[:]) == frame.Magic {
		conn.Write(RefusalOf(why)) // it is hung up on either way
	}
}

// makeRoom counts conn among those that are waited for to be turned away.
func (d *Listener) makeRoom(conn net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if oldest := d.turned[d.turnedNext]; oldest != nil {
		oldest.Close() // it may have gone by itself
	}
	d.turned[d.turnedNext] = conn
	d.turnedNext = (d.turnedNext + 1) % MaxTurnedAway
}

// RefusalOf is what a connection that speaks frames is answered with instead of a
// greeting.
func RefusalOf(why error) []byte {
	b, err := proto.Marshal(status.Convert(why).Proto())
	if err != nil { // a text that is not UTF-8
		return nil
	}
	dst := frame.Header{Length: uint32(len(b)), Flags: frame.End | frame.Error}.Append([]byte(frame.Magic))
	return append(dst, b...)
}
