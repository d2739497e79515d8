package link

import "slices"

// table is the calls under way, each in a slot of its own, of which there are as
// many as there may be calls. The number of the slot is the low part of the call's
// id. It is guarded by Conn.mu.
type table struct {
	slots   []slot
	free    []uint32 // slots that were used before
	limit   int
	ghosts  int
	last    uint64          // the high part of the last id
	waiting []chan struct{} // closed when who waits for a slot may try
}

// slot is a call; without one it is a ghost, which ended here and not yet there.
type slot struct {
	id uint64 // 0: the slot is free
	k  *call
}

const slotBits = 16

// put returns an id for k, or false if there may be no more calls.
func (t *table) put(k *call) (uint64, bool) {
	var at uint32
	switch n := len(t.free); {
	case n > 0:
		at, t.free = t.free[n-1], t.free[:n-1]
	case len(t.slots) < t.limit:
		at = uint32(len(t.slots))
		t.slots = append(t.slots, slot{})
	default:
		return 0, false
	}
	t.last++
	id := t.last<<slotBits | uint64(at)
	t.slots[at] = slot{id, k}
	return id, true
}

// at returns the slot of a call, nil if there is none.
func (t *table) at(id uint64) *slot {
	if at := id & (1<<slotBits - 1); id != 0 && at < uint64(len(t.slots)) && t.slots[at].id == id {
		return &t.slots[at]
	}
	return nil
}

// open returns the call with that id, nil if it is none or a ghost.
func (t *table) open(id uint64) *call {
	if s := t.at(id); s != nil {
		return s.k
	}
	return nil
}

// under returns how many calls and ghosts there are.
func (t *table) under() int { return len(t.slots) - len(t.free) }

// haunt makes the slot of a call that has ended here a ghost.
func (t *table) haunt(id uint64) {
	t.at(id).k = nil
	t.ghosts++
}

// drop frees the slot of a call or a ghost, if there is one, and lets who has
// waited longest try.
func (t *table) drop(id uint64) {
	if s := t.at(id); s != nil {
		if s.k == nil {
			t.ghosts--
		}
		*s = slot{}
		t.free = append(t.free, uint32(id&(1<<slotBits-1)))
		t.next()
	}
}

// wait returns a channel that is closed when a slot may be free. Who was called
// once and came too late goes before others.
func (t *table) wait(again bool) chan struct{} {
	w := make(chan struct{})
	if again {
		t.waiting = slices.Insert(t.waiting, 0, w)
	} else {
		t.waiting = append(t.waiting, w)
	}
	return w
}

// giveUp is called by who waits no more. If it was called already, another is.
func (t *table) giveUp(w chan struct{}) {
	if i := slices.Index(t.waiting, w); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	} else {
		t.next()
	}
}

// next wakes who has waited longest.
func (t *table) next() {
	if len(t.waiting) > 0 {
		close(t.waiting[0])
		t.waiting = slices.Delete(t.waiting, 0, 1)
	}
}
