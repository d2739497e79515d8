package dag

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/codec/cutter"
	"github.com/stoadb/stoa/keys"
)

// Limits of a delta.
const (
	MaxParents = 65_536  // parents
	MaxActions = 8192    // actions
	MaxDelta   = 4 << 20 // bytes, as it travels
)

// domainDelta begins what the id of a delta is the hash of.
const domainDelta = "stoa.delta.v1"

// Delta is a causal delta as it travels: a change of the state of a context, made
// on top of those that it names as its parents.
type Delta struct {
	Context      codec.ContextID
	Parents      []codec.DeltaID // in ascending order, none twice; none: a first delta
	Actions      []codec.Action  // in the order of their author; no key twice
	HLC          codec.HybridTimestamp
	ExpectedRoot codec.Hash // the root of what its ancestors and itself make
	Events       []codec.Event
}

// AppendBinary appends the bytes in which the delta travels, and of which its id
// is the hash, to dst:
//
//	borsh(context_id, parents, actions, hlc, expected_root_hash, events)
//
// Where an event's kind is not UTF-8, an action of no kind that there is, a
// removal with a value, or the stamp of node 0, there are no such bytes: it
// returns dst as it was, and codec.ErrMalformed.
func (d *Delta) AppendBinary(dst []byte) ([]byte, error) {
	out, _, err := d.append(dst)
	return out, err
}

// append is AppendBinary; at is how many of the appended bytes are before the
// expected root, where the row of a delta has a byte of its own.
func (d *Delta) append(dst []byte) (out []byte, at int, err error) {
	start := len(dst)
	out = append(dst, d.Context[:]...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(d.Parents)))
	for i := range d.Parents {
		out = append(out, d.Parents[i][:]...)
	}
	out = binary.LittleEndian.AppendUint32(out, uint32(len(d.Actions)))
	for i := range d.Actions {
		a := &d.Actions[i]
		if a.Kind > codec.ActionDelete || a.Kind == codec.ActionDelete && len(a.Value) > 0 {
			return dst, 0, d.malformed(fmt.Sprintf("actions[%d]", i), "neither a put nor a removal without a value")
		}
		out = appendBytes(append(out, byte(a.Kind)), a.Key)
		if a.Kind == codec.ActionPut {
			out = appendBytes(out, a.Value)
		}
	}
	if d.HLC.ID.IsZero() {
		return dst, 0, d.malformed("hlc", "the stamp of node 0")
	}
	out = appendStamp(out, d.HLC)
	at = len(out) - start
	out = append(out, d.ExpectedRoot[:]...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(d.Events)))
	for i := range d.Events {
		e := &d.Events[i]
		if !utf8.ValidString(e.Kind) {
			return dst, 0, d.malformed(fmt.Sprintf("events[%d].kind", i), "invalid UTF-8")
		}
		out = binary.LittleEndian.AppendUint32(out, uint32(len(e.Kind)))
		out = appendBytes(append(out, e.Kind...), e.Data)
	}
	return out, at, nil
}

func (d *Delta) malformed(field, reason string) error {
	return &codec.Error{Type: "Delta", Field: field, Offset: -1, Reason: reason}
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(b))), b...)
}

// appendStamp appends the 24 bytes of a stamp, whatever it is.
func appendStamp(dst []byte, t codec.HybridTimestamp) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, t.Time)
	dst = binary.LittleEndian.AppendUint64(dst, t.ID.Lo)
	return binary.LittleEndian.AppendUint64(dst, t.ID.Hi)
}

// ParseDelta returns the delta whose bytes are exactly b, and keeps no reference
// to b. Anything else is a codec.ErrMalformed. It does not judge the delta, as
// [Delta.Check] does.
func ParseDelta(b []byte) (*Delta, error) {
	c := deltaCutter{cutter.New("Delta", b)}
	d := &Delta{Context: codec.ContextID(c.Hash("context_id"))}
	if n := c.Count("parents", 32); n > 0 {
		d.Parents = make([]codec.DeltaID, n)
		for i := range d.Parents {
			d.Parents[i] = codec.DeltaID(c.Hash("parents"))
		}
	}
	if n := c.Count("actions", 5); n > 0 {
		d.Actions = make([]codec.Action, n)
		for i := range d.Actions {
			d.Actions[i] = c.action()
		}
	}
	d.HLC = c.stamp("hlc")
	d.ExpectedRoot = c.Hash("expected_root_hash")
	if n := c.Count("events", 8); n > 0 {
		d.Events = make([]codec.Event, n)
		for i := range d.Events {
			d.Events[i] = c.event()
		}
	}
	if err := c.End(); err != nil {
		return nil, err
	}
	return d, nil
}

// deltaCutter takes a delta apart.
type deltaCutter struct{ cutter.Cutter }

func (c *deltaCutter) action() (a codec.Action) {
	a.Kind = codec.ActionKind(c.U8("actions"))
	if a.Kind > codec.ActionDelete {
		c.Fail("actions", "neither a put nor a removal")
	}
	a.Key = c.Bytes("actions.key")
	if a.Kind == codec.ActionPut {
		a.Value = c.Bytes("actions.value")
	}
	return a
}

func (c *deltaCutter) event() (e codec.Event) {
	kind := c.Take("events.kind", c.Count("events.kind", 1))
	if !utf8.Valid(kind) {
		c.Fail("events.kind", "invalid UTF-8")
	}
	e.Kind = string(kind)
	e.Data = c.Bytes("events.data")
	return e
}

func (c *deltaCutter) stamp(field string) codec.HybridTimestamp {
	b := c.Take(field, 24)
	if b == nil {
		return codec.HybridTimestamp{}
	}
	t := cutStamp(b)
	if t.ID.IsZero() {
		c.Fail(field, "the stamp of node 0")
	}
	return t
}

// cutStamp returns what appendStamp made of a stamp.
func cutStamp(b []byte) codec.HybridTimestamp {
	return codec.HybridTimestamp{Time: binary.LittleEndian.Uint64(b),
		ID: codec.NodeID{Lo: binary.LittleEndian.Uint64(b[8:]), Hi: binary.LittleEndian.Uint64(b[16:])}}
}

// ID returns the id of the delta: SHA-256("stoa.delta.v1" ‖ its bytes). The zero
// id is that of a delta that has no bytes.
func (d *Delta) ID() codec.DeltaID {
	b, _, err := d.append([]byte(domainDelta))
	if err != nil {
		return codec.DeltaID{}
	}
	return sha256.Sum256(b)
}

// Check judges the form and the limits of a delta by itself, without its
// ancestors: nil, or a [*Refusal].
func (d *Delta) Check() error {
	p := prepare(d)
	defer p.release()
	if p.refusal != nil {
		return p.refusal
	}
	return nil
}

// fault says what is wrong with the form or the limits of d, but for keys that
// occur twice.
func (d *Delta) fault() (RefusalReason, string) {
	if len(d.Parents) > MaxParents {
		return OverLimit, fmt.Sprintf("%d parents, at most %d", len(d.Parents), MaxParents)
	}
	if len(d.Actions) > MaxActions {
		return OverLimit, fmt.Sprintf("%d actions, at most %d", len(d.Actions), MaxActions)
	}
	for i := range d.Parents {
		p := &d.Parents[i]
		if p.IsZero() {
			return BadForm, "the zero id as a parent"
		}
		if i > 0 && string(d.Parents[i-1][:]) >= string(p[:]) {
			return BadForm, "parents out of order, or one twice"
		}
	}
	for i := range d.Actions {
		if n := len(d.Actions[i].Key); n > keys.MaxVariable {
			return OverLimit, fmt.Sprintf("action %d: an app_key of %d bytes, at most %d", i, n, keys.MaxVariable)
		}
	}
	return 0, ""
}
