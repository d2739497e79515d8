package limit

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// rule is a Rule as it is counted by: window is in ms.
type rule struct {
	max    uint32
	window uint64
}

// history is what the record of a limit says: the instants that may count, and the widest
// of the rules that it was asked with, for which they are kept.
type history struct {
	rule
	moments []moment // their times ascend
}

// moment is how often something was done in one ms since 1970.
type moment struct{ at, times uint64 }

// version is the first byte of a record:
//
//	version u8 = 1 ‖ max u32 ‖ window u64 ms ‖ at u64 ms ‖ times ‖ for each further moment: ms since the one before ‖ times
//
// in little endian, times and differences as varints.
const version = 1

const headBytes = 1 + 4 + 8 + 8

// maxMoment is the last moment that there is, in ms since 1970.
const maxMoment = math.MaxInt64 / uint64(time.Millisecond)

func (h *history) append(dst []byte) []byte {
	dst = append(dst, version)
	dst = binary.LittleEndian.AppendUint32(dst, h.max)
	dst = binary.LittleEndian.AppendUint64(dst, h.window)
	for i, m := range h.moments {
		if i == 0 {
			dst = binary.LittleEndian.AppendUint64(dst, m.at)
		} else {
			dst = binary.AppendUvarint(dst, m.at-h.moments[i-1].at)
		}
		dst = binary.AppendUvarint(dst, m.times)
	}
	return dst
}

// parse returns what a record says, or engine.ErrCorrupt.
func parse(src []byte) (h history, err error) {
	if len(src) <= headBytes || src[0] != version {
		return h, damaged("not of version 1, or cut short")
	}
	h.max, h.window = binary.LittleEndian.Uint32(src[1:]), binary.LittleEndian.Uint64(src[5:])
	at, rest := binary.LittleEndian.Uint64(src[13:]), src[headBytes:]
	h.moments = make([]moment, 0, len(rest)/2+2)
	total := uint64(0)
	for {
		times, n := binary.Uvarint(rest)
		if n <= 0 || times == 0 || times > MaxMax || at == 0 || at > maxMoment {
			return h, damaged("cut short, or a moment at which nothing was, or at no time")
		}
		h.moments, rest, total = append(h.moments, moment{at, times}), rest[n:], total+times
		if len(rest) == 0 {
			break
		}
		after, n := binary.Uvarint(rest)
		if n <= 0 || after == 0 || after > h.window {
			return h, damaged("moments that don't ascend, or are further apart than the window")
		}
		at, rest = at+after, rest[n:]
	}
	if h.max == 0 || h.max > MaxMax || h.window == 0 || h.window > uint64(MaxWindow/time.Millisecond) || total > uint64(h.max) {
		return h, damaged("a rule that can't be, or more instants than it lets pass")
	}
	return h, nil
}

func damaged(reason string) error {
	return fmt.Errorf("limit: %w: the record of a limit: %s", engine.ErrCorrupt, reason)
}

// leaves is when an instant is in no window any more that begins with it. The ms that it was in
// may have begun just after it: that one is waited for too.
func leaves(at, window uint64) uint64 { return at + window + 1 }

// within is how many instants count at a time by a rule, of which no more than its maximum are
// counted, and if it is reached when so many have left that one more may be; 0: it is not.
func (h *history) within(r rule, now uint64) (count, free uint64) {
	for i := len(h.moments) - 1; i >= 0; i-- {
		m := h.moments[i]
		if leaves(m.at, r.window) <= now {
			break
		}
		if count += m.times; count >= uint64(r.max) {
			return uint64(r.max), leaves(m.at, r.window)
		}
	}
	return count, 0
}

// add counts one more, now, and forgets what no rule asks for any more.
func (h *history) add(r rule, now uint64) {
	h.max, h.window = max(h.max, r.max), max(h.window, r.window)
	if n := len(h.moments); n > 0 && h.moments[n-1].at >= now { // a clock that was set back between two processes
		h.moments[n-1].times++
	} else {
		h.moments = append(h.moments, moment{now, 1})
	}
	first, total := len(h.moments), uint64(0)
	for first > 0 && total < uint64(h.max) && leaves(h.moments[first-1].at, h.window) > now {
		first--
		total += h.moments[first].times
	}
	h.moments = h.moments[first:]
	if over := total - min(total, uint64(h.max)); over > 0 {
		h.moments[0].times -= over
	}
}

// expiryStep is what the expiry of a record is rounded up to, in ms: so it does not move with
// each instant, which would write two rows more.
const expiryStep = 1000

// expires is when the last instant has left, or up to a second later.
func (h *history) expires() uint64 {
	at := leaves(h.moments[len(h.moments)-1].at, h.window)
	return (at + expiryStep - 1) / expiryStep * expiryStep
}

// Fault is what is wrong with a record of the space of limits, looked at by itself and
// whether it has expired or not; "": nothing.
func Fault(r *kv.Record) string {
	if _, ok := nameOf(r.Key); !ok {
		return "its key is no endpoint and user"
	}
	h, err := parse(r.Value)
	switch {
	case err != nil:
		return err.Error()
	case r.Expires.IsZero() || uint64(r.Expires.UnixMilli()) != h.expires():
		return "it does not expire with its last instant"
	}
	return ""
}
