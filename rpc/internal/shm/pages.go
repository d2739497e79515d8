package shm

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/engine/rocks/rows"
)

const (
	// Slots is how many pages of a scan lie in memory at most: the one that the client reads, and
	// those that the daemon is ahead.
	Slots = 4
	// SlotSize is how many bytes the largest page in a slot has: more than a page of entries
	// that are not large.
	SlotSize = 576 << 10
)

// Pages are the slots of a connection, at the daemon, which writes them. A nil one has none.
type Pages struct {
	file   *os.File
	memory []byte

	mu      sync.Mutex
	writers int
	closed  bool
}

// NewPages returns slots, or an error where the system has no memory for it.
func NewPages() (*Pages, error) {
	fd, memory, err := rows.SharedMemory("stoa-pages", Slots*SlotSize)
	if err != nil {
		return nil, err
	}
	return &Pages{file: os.NewFile(uintptr(fd), "stoa-pages"), memory: memory}, nil
}

// Slot returns a slot, from 0 on, to be written.
func (p *Pages) Slot(i int) []byte {
	return p.memory[i*SlotSize : (i+1)*SlotSize : (i+1)*SlotSize]
}

// Enter is called before slots are written. It returns false if there are none, or no more.
func (p *Pages) Enter() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.writers++
	return true
}

// Leave is called once for each Enter that returned true, when no slot is written any more.
func (p *Pages) Leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writers--
	p.release()
}

// Close gives the memory back as soon as nobody writes to it.
func (p *Pages) Close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.release()
}

// release is called with mu held.
func (p *Pages) release() {
	if p.closed && p.writers == 0 && p.memory != nil {
		_ = p.file.Close() // it was handed, not written
		_ = unix.Munmap(p.memory)
		p.memory = nil
	}
}

// SendPages hands slots to a client.
func SendPages(conn *net.UnixConn, p *Pages) error { return send(conn, MagicPages, SlotSize, p.file) }

// PagesRead are the slots of a connection, at the client, which reads them. The memory is given
// back when nobody has them any more.
type PagesRead struct {
	memory []byte
	slot   uint64
}

// AskForPages asks for slots, before anything else is said on a connection. It returns ErrNotForPeer
// and ErrNone, after which the connection is of no use.
func AskForPages(conn *net.UnixConn) (*PagesRead, error) {
	size, files, err := ask(conn, MagicPages, 1)
	if err != nil {
		return nil, err
	}
	defer files[0].Close()
	memory, err := rows.MapShared(files[0], 1)
	if err != nil {
		return nil, err
	}
	p := &PagesRead{memory: memory, slot: size}
	runtime.AddCleanup(p, func(b []byte) { _ = unix.Munmap(b) }, memory)
	return p, nil
}

// Page returns the first bytes of a slot. What it returns is there while somebody has p.
func (p *PagesRead) Page(slot, size uint32) ([]byte, error) {
	if p == nil {
		return nil, fmt.Errorf("%w: a page in a slot, of which there are none", errAnswer)
	}
	begin := uint64(slot) * p.slot
	if uint64(size) > p.slot || p.slot > uint64(len(p.memory)) || begin+uint64(size) > uint64(len(p.memory)) {
		return nil, fmt.Errorf("%w: a page of %d bytes in slot %d", errAnswer, size, slot)
	}
	return p.memory[begin : begin+uint64(size) : begin+uint64(size)], nil
}
