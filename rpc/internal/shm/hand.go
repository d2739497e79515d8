// Package shm hands memory of a daemon to a client: the rows that it shares, over a connection of
// its own that the client reads them by while it stands, and the slots that pages of long scans
// go through, over the connection that asks for the scans. README.md of package rpc has the
// exchanges.
//
// Start at [SendRows] and [SendPages], for daemons, and at [Rows] and [AskForPages], for clients.
package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/engine/rocks/rows"
)

// What a connection begins with, in both directions, that asks for rows, or for slots. HTTP/2 and
// frames begin with something else.
const (
	MagicRows  = "STR1"
	MagicPages = "STP1"
)

// The answer to either: itself, a result u32, and a u64: the term that rows are of, or the
// bytes of a slot. The files come with it if the result is handed: of the table and of
// the terms, or of the slots.
const (
	handed     = 0
	notForYou  = 1 // the peer may not
	nothing    = 2 // there is none
	answerSize = len(MagicRows) + 4 + 8
)

// Errors of a client that is handed nothing.
var (
	ErrNotForPeer = errors.New("shm: memory is shared with who may read everything")
	ErrNone       = errors.New("shm: the daemon shares no memory")
	errAnswer     = errors.New("shm: the answer of the daemon is no answer")
)

func answer(magic string, result uint32, number uint64) []byte {
	b := append(make([]byte, 0, answerSize), magic...)
	b = binary.LittleEndian.AppendUint32(b, result)
	return binary.LittleEndian.AppendUint64(b, number)
}

// send hands files to a client.
func send(conn *net.UnixConn, magic string, number uint64, files ...*os.File) error {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	_, _, err := conn.WriteMsgUnix(answer(magic, handed, number), unix.UnixRights(fds...), nil)
	return err
}

// SendRows hands rows to a client.
func SendRows(conn *net.UnixConn, s rows.Share) error {
	return send(conn, MagicRows, s.Term, s.Table, s.Terms)
}

// Refuse tells a client that has sent a magic why it is handed nothing: because it may not
// be, or because there is nothing.
func Refuse(conn net.Conn, magic string, may bool) error {
	result := uint32(notForYou)
	if may {
		result = nothing
	}
	_, err := conn.Write(answer(magic, result, 0))
	return err
}

// ask returns the number and the files, so many, that a daemon hands. It returns ErrNotForPeer
// and ErrNone.
func ask(conn *net.UnixConn, magic string, want int) (uint64, []*os.File, error) {
	if _, err := conn.Write([]byte(magic)); err != nil {
		return 0, nil, err
	}
	var b [answerSize]byte
	control := make([]byte, unix.CmsgSpace(want*4))
	n, controlled, _, _, err := conn.ReadMsgUnix(b[:], control)
	if err != nil {
		return 0, nil, err
	}
	files := received(control[:controlled])
	result := binary.LittleEndian.Uint32(b[len(magic):])
	switch {
	case n != answerSize || string(b[:len(magic)]) != magic:
		err = errAnswer
	case result == notForYou:
		err = ErrNotForPeer
	case result != handed:
		err = ErrNone
	case len(files) != want:
		err = fmt.Errorf("%w: %d files", errAnswer, len(files))
	default:
		return binary.LittleEndian.Uint64(b[len(magic)+4:]), files, nil
	}
	for _, f := range files {
		_ = f.Close() // it was only read
	}
	return 0, nil, err
}

// Receive asks for rows, and returns what is handed. It returns ErrNotForPeer and ErrNone.
func Receive(conn *net.UnixConn) (rows.Share, error) {
	term, files, err := ask(conn, MagicRows, 2)
	if err != nil {
		return rows.Share{}, err
	}
	return rows.Share{Table: files[0], Terms: files[1], Term: term}, nil
}

// received returns the files that came with a message.
func received(control []byte) (files []*os.File) {
	messages, _ := unix.ParseSocketControlMessage(control) // those before what is malformed count
	for i := range messages {
		fds, _ := unix.ParseUnixRights(&messages[i])
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "shared"))
		}
	}
	return files
}
