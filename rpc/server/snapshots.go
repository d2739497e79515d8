package server

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// snapshots are those that sessions hold, by their numbers. The numbers are
// random, so that one peer can't come upon that of another, and good only for
// the user who took the snapshot.
type snapshots struct {
	rand io.Reader
	now  func() time.Time

	mu   sync.Mutex
	held map[uint64]*heldSnapshot
}

// heldSnapshot is a snapshot, with those who read it.
type heldSnapshot struct {
	engine.Snapshot
	id    uint64
	uid   uint32
	ended chan struct{} // closed with the session
	used  moment        // when it was last read

	readers int // guarded by snapshots.mu
	gone    bool
}

// add takes snap for a session of uid.
func (t *snapshots) add(snap engine.Snapshot, uid uint32) (*heldSnapshot, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held == nil {
		t.held = make(map[uint64]*heldSnapshot)
	}
	var b [8]byte
	for {
		if _, err := io.ReadFull(t.rand, b[:]); err != nil {
			return nil, fmt.Errorf("server: number of a snapshot: %w", err)
		}
		id := binary.LittleEndian.Uint64(b[:])
		if _, taken := t.held[id]; taken || id == 0 {
			continue
		}
		h := &heldSnapshot{Snapshot: snap, id: id, uid: uid, ended: make(chan struct{})}
		h.used.set(t.now())
		t.held[id] = h
		return h, nil
	}
}

// reader returns the snapshot of that number to a peer of uid, who must give it
// back.
func (t *snapshots) reader(id uint64, uid uint32) (*heldSnapshot, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.held[id]
	if h == nil || h.uid != uid {
		return nil, fault.New(stoav1.ErrorKind_ERROR_KIND_SNAPSHOT,
			"rpc: no such snapshot: the session that held it has ended", fault.FieldSnapshot, strconv.FormatUint(id, 10))
	}
	h.readers++
	h.used.set(t.now())
	return h, nil
}

// touch notes that a scan of h goes on.
func (t *snapshots) touch(h *heldSnapshot) { h.used.set(t.now()) }

// giveBack ends a read. The last reader of a snapshot whose session has ended
// closes it.
func (t *snapshots) giveBack(h *heldSnapshot) {
	t.mu.Lock()
	h.readers--
	last := h.gone && h.readers == 0
	t.mu.Unlock()
	if last {
		h.Close()
	}
}

// end takes the snapshot out of reach, and closes it once nobody reads it.
func (t *snapshots) end(h *heldSnapshot) {
	t.mu.Lock()
	if h.gone {
		t.mu.Unlock()
		return
	}
	delete(t.held, h.id)
	h.gone = true
	close(h.ended)
	unread := h.readers == 0
	t.mu.Unlock()
	if unread {
		h.Close()
	}
}

func (t *snapshots) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.held)
}

// closeAll ends what is left.
func (t *snapshots) closeAll() {
	t.mu.Lock()
	all := make([]*heldSnapshot, 0, len(t.held))
	for _, h := range t.held {
		all = append(all, h)
	}
	t.mu.Unlock()
	for _, h := range all {
		t.end(h)
	}
}
