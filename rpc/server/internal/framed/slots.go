package framed

import (
	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/shm"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// slotCost is how much credit a page in a slot takes beside its message, whatever its size. A stream that has any left
// has fewer pages that the client may still read than there are slots, so that the next one is
// free.
const slotCost = frame.Window / shm.Slots

// TakeSlots has the pages of a stream go through the slots of its connection, until GiveSlots. It
// returns false if there are none, or another stream has them.
func (s *stream) TakeSlots() bool {
	c := s.k.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slotted || !c.slots.Enter() {
		return false
	}
	c.slotted = true
	return true
}

// GiveSlots is called by whoever writes to slots, when that is over.
func (s *stream) GiveSlots() {
	c := s.k.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slotted = false
	c.slots.Leave()
}

// Slot waits until the client has read what is in the next slot, and returns its memory. Either
// SendSlot or LeaveSlot follows.
func (s *stream) Slot() ([]byte, error) {
	if err := s.spend(slotCost); err != nil {
		return nil, err
	}
	return s.k.conn.slots.Slot(s.slot), nil
}

// SendSlot sends the page that was written to the first bytes of the slot.
func (s *stream) SendSlot(size int, entries uint32) error {
	payload, err := s.k.conn.f.codec.Marshal(&stoav1.ScanResponse{Count: entries, Slot: uint32(s.slot) + 1, SlotBytes: uint32(size)})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.credit -= int64(payload.Len())
	s.mu.Unlock()
	s.slot = (s.slot + 1) % shm.Slots
	if err := s.add(payload); err != nil {
		return err
	}
	return s.flush()
}

// LeaveSlot says that nothing is sent by the slot.
func (s *stream) LeaveSlot() { s.give(slotCost) }
