// Package rowshare hands the rows that a daemon shares to a client, over a connection of
// its own, and lets the client read them while that connection stands. README.md of package
// rpc has the exchange.
//
// Start at [Send], for daemons, and at [Rows], for clients.
package rowshare

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/engine/rocks/rows"
)

// Magic is what such a connection begins with, in both directions. HTTP/2 and frames begin
// with something else.
const Magic = "STR1"

// The answer to Magic: itself, a result u32, and the term u64 that the rows are of. The files
// of the table and of the terms come with it if the result is handed.
const (
	handed     = 0
	notForYou  = 1 // the peer may not read everything
	nothing    = 2 // there are none
	answerSize = len(Magic) + 4 + 8
)

// Errors of a client that is handed nothing.
var (
	ErrNotForPeer = errors.New("rowshare: shared rows are for who may read everything")
	ErrNone       = errors.New("rowshare: the daemon shares no rows")
	errAnswer     = errors.New("rowshare: the answer of the daemon is no answer")
)

func answer(result uint32, term uint64) []byte {
	b := append(make([]byte, 0, answerSize), Magic...)
	b = binary.LittleEndian.AppendUint32(b, result)
	return binary.LittleEndian.AppendUint64(b, term)
}

// Send hands rows to a client.
func Send(conn *net.UnixConn, s rows.Share) error {
	files := unix.UnixRights(int(s.Table.Fd()), int(s.Terms.Fd()))
	_, _, err := conn.WriteMsgUnix(answer(handed, s.Term), files, nil)
	return err
}

// Refuse tells a client why it is handed nothing: because it may not read everything, or
// because there is nothing.
func Refuse(conn net.Conn, mayRead bool) error {
	result := uint32(notForYou)
	if mayRead {
		result = nothing
	}
	_, err := conn.Write(answer(result, 0))
	return err
}

// Receive asks for rows, and returns what is handed. It returns ErrNotForPeer and ErrNone.
func Receive(conn *net.UnixConn) (rows.Share, error) {
	if _, err := conn.Write([]byte(Magic)); err != nil {
		return rows.Share{}, err
	}
	var b [answerSize]byte
	control := make([]byte, unix.CmsgSpace(2*4))
	n, controlled, _, _, err := conn.ReadMsgUnix(b[:], control)
	if err != nil {
		return rows.Share{}, err
	}
	files := received(control[:controlled])
	result := binary.LittleEndian.Uint32(b[len(Magic):])
	switch {
	case n != answerSize || string(b[:len(Magic)]) != Magic:
		err = errAnswer
	case result == notForYou:
		err = ErrNotForPeer
	case result != handed:
		err = ErrNone
	case len(files) != 2:
		err = fmt.Errorf("%w: %d files", errAnswer, len(files))
	default:
		return rows.Share{Table: files[0], Terms: files[1], Term: binary.LittleEndian.Uint64(b[len(Magic)+4:])}, nil
	}
	for _, f := range files {
		_ = f.Close() // it was only read
	}
	return rows.Share{}, err
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
