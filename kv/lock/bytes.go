package lock

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/stoadb/stoa/engine"
)

// state is what the record of a lock says: who holds it, and what the last change was.
type state struct {
	event   EventKind
	agent   string // whom the event is about
	mode    Mode
	holders []holder // in order of their tokens
}

// holder is one of a lock. Times are ms since 1970.
type holder struct {
	token                    uint64
	acquired, expires, until uint64
	ttl                      uint32 // ms that a renewal adds
	heartbeats               uint32
	agent, purpose           string
}

// holderBytes is the length of the numbers of a holder.
const holderBytes = 4*8 + 2*4

// version is the first byte of a lock's record, of which README.md has the others.
const version = 1

func (s *state) append(dst []byte) []byte {
	dst = append(dst, version, byte(s.event), byte(s.mode))
	dst = appendText(dst, s.agent)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(s.holders)))
	for i := range s.holders {
		h := &s.holders[i]
		for _, n := range [...]uint64{h.token, h.acquired, h.expires, h.until} {
			dst = binary.LittleEndian.AppendUint64(dst, n)
		}
		dst = binary.LittleEndian.AppendUint32(dst, h.ttl)
		dst = binary.LittleEndian.AppendUint32(dst, h.heartbeats)
		dst = appendText(appendText(dst, h.agent), h.purpose)
	}
	return dst
}

func appendText(dst []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint16(dst, uint16(len(text))), text...)
}

// maxMoment is the last moment that there is, in ms since 1970.
const maxMoment = math.MaxInt64 / uint64(time.Millisecond)

// parseState returns what a record says, or engine.ErrCorrupt. It copies what it needs.
func parseState(name string, src []byte) (s state, err error) {
	r := reader{src: src}
	if r.byte() != version {
		return s, damaged(name, "not of version 1")
	}
	s.event, s.mode = EventKind(r.byte()), Mode(r.byte())
	s.agent = r.text()
	n := int(r.u16())
	if r.short || n > MaxHolders {
		return s, damaged(name, "cut short, or of too many holders")
	}
	if n > 0 {
		s.holders = make([]holder, n)
	}
	for i := range s.holders {
		s.holders[i] = holder{token: r.u64(), acquired: r.u64(), expires: r.u64(), until: r.u64(), ttl: r.u32(), heartbeats: r.u32(), agent: r.text(), purpose: r.text()}
	}
	if r.short || len(r.src) > 0 {
		return s, damaged(name, "cut short, or followed by more")
	}
	return s, s.check(name)
}

// modeOf is the mode that a record says which this package has written.
func modeOf(src []byte) Mode {
	if len(src) < 3 {
		return Free
	}
	return Mode(src[2])
}

// check returns engine.ErrCorrupt for a state that no lock has.
func (s *state) check(name string) error {
	fits := map[Mode]bool{Free: len(s.holders) == 0, Exclusive: len(s.holders) == 1, Shared: len(s.holders) > 0}
	if !fits[s.mode] || s.event < EventAcquired || s.event > EventDowngraded {
		return damaged(name, "a mode that its holders don't have, or an unknown event")
	}
	for i, h := range s.holders {
		switch {
		case h.token == 0 || i > 0 && h.token <= s.holders[i-1].token:
			return damaged(name, "tokens that don't ascend")
		case h.acquired == 0 || h.expires < h.acquired || h.until < h.expires || h.until > maxMoment:
			return damaged(name, "times of a holder that don't ascend")
		case slices.ContainsFunc(s.holders[:i], func(other holder) bool { return other.agent == h.agent }) || h.agent == "":
			return damaged(name, "a holder without a name, or twice")
		}
	}
	return nil
}

func damaged(name, reason string) error {
	return fmt.Errorf("lock: %w: the record of %q: %s", engine.ErrCorrupt, name, reason)
}

// reader takes a record apart; short says that it has ended too early.
type reader struct {
	src   []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if r.short = r.short || len(r.src) < n; r.short {
		return make([]byte, min(n, 8))
	}
	taken := r.src[:n]
	r.src = r.src[n:]
	return taken
}

func (r *reader) byte() byte  { return r.take(1)[0] }
func (r *reader) u16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *reader) u32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) u64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

// bytes returns a text, which is a part of the record.
func (r *reader) bytes() []byte { return r.take(int(r.u16())) }
func (r *reader) text() string  { return string(r.bytes()) }

// holder returns that of an agent; nil: it holds nothing.
func (s *state) holder(agent string) *holder {
	for i := range s.holders {
		if s.holders[i].agent == agent {
			return &s.holders[i]
		}
	}
	return nil
}

// last is when the last holder's time is over; 0: there is none.
func (s *state) last() (at uint64) {
	for i := range s.holders {
		at = max(at, s.holders[i].expires)
	}
	return at
}

// first is when the first holder's time is over; MaxUint64: there is none.
func (s *state) first() uint64 {
	at := uint64(math.MaxUint64)
	for i := range s.holders {
		at = min(at, s.holders[i].expires)
	}
	return at
}

// remove takes an agent out.
func (s *state) remove(agent string) {
	s.holders = slices.DeleteFunc(s.holders, func(h holder) bool { return h.agent == agent })
	if len(s.holders) == 0 {
		s.mode = Free
	}
}

// grant is what a holder was given.
func (s *state) grant(name string, h *holder) Grant {
	return Grant{Name: name, Agent: h.agent, Mode: s.mode, Token: h.token, Acquired: moment(h.acquired), Expires: moment(h.expires),
		Until: moment(h.until), Heartbeats: h.heartbeats, Purpose: h.purpose}
}

// moment is a time as people read it.
func moment(ms uint64) time.Time { return time.UnixMilli(int64(ms)).UTC() }

func millis(t time.Time) uint64 { return uint64(t.UnixMilli()) }
