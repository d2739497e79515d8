package dag

import (
	"encoding/binary"
	"fmt"

	"github.com/stoadb/stoa/codec"
)

// PartKind says what a [SnapshotPart] has. The zero PartKind is none.
type PartKind uint8

// The parts of a snapshot, in the order in which they come.
const (
	PartStart  PartKind = 1 + iota // the base; the first part of every stream, also of one that goes on
	PartRows                       // live state at the base
	PartDeltas                     // deltas after the base, parents first
	PartEnd                        // what there was in all
)

// String returns "start", "rows", "deltas", "end", or "PartKind(n)".
func (k PartKind) String() string {
	switch k {
	case PartStart:
		return "start"
	case PartRows:
		return "rows"
	case PartDeltas:
		return "deltas"
	case PartEnd:
		return "end"
	}
	return fmt.Sprintf("PartKind(%d)", uint8(k))
}

// Limits of a part, in bytes.
const (
	MaxPart    = 5 << 20   // of any part
	partTarget = 256 << 10 // a part ends once it is as large; a single row or delta may be larger
	maxResume  = 1 << 17   // of a place to go on from
)

// StateRow is a live entry of the shared state of a context.
type StateRow struct {
	AppKey []byte
	Value  []byte
}

// SnapshotPart is a piece of a snapshot on its way: [Store.Snapshot] makes them,
// [Store.Seed] takes them, in the same order.
type SnapshotPart struct {
	Kind   PartKind
	Resume []byte // of all but PartEnd: what to ask for to get what follows this part; opaque to the receiver

	Context codec.ContextID // of PartStart
	Base    []byte          // of PartStart: the base as a delta travels; empty: there is none, all deltas follow
	Rows    []StateRow      // of PartRows: at least one
	Deltas  [][]byte        // of PartDeltas: at least one, as they travel

	RowCount, DeltaCount uint64 // of PartEnd: those of the whole snapshot
}

// AppendBinary appends the bytes of p; README.md has the format. It fails, with
// codec.ErrMalformed, for what ParseSnapshotPart would refuse.
func (p *SnapshotPart) AppendBinary(dst []byte) ([]byte, error) {
	start := len(dst)
	if fault := p.fault(); fault != "" {
		return dst, &codec.Error{Type: "SnapshotPart", Offset: -1, Reason: fault}
	}
	out := append(dst, messageVersion, byte(p.Kind))
	if p.Kind != PartEnd {
		out = appendBytes(out, p.Resume)
	}
	switch p.Kind {
	case PartStart:
		out = appendBytes(append(out, p.Context[:]...), p.Base)
	case PartRows:
		out = binary.LittleEndian.AppendUint32(out, uint32(len(p.Rows)))
		for i := range p.Rows {
			out = appendBytes(appendBytes(out, p.Rows[i].AppKey), p.Rows[i].Value)
		}
	case PartDeltas:
		out = binary.LittleEndian.AppendUint32(out, uint32(len(p.Deltas)))
		for _, d := range p.Deltas {
			out = appendBytes(out, d)
		}
	case PartEnd:
		out = binary.LittleEndian.AppendUint64(out, p.RowCount)
		out = binary.LittleEndian.AppendUint64(out, p.DeltaCount)
	}
	if n := len(out) - start; n > MaxPart {
		return dst, &codec.Error{Type: "SnapshotPart", Offset: -1, Reason: fmt.Sprintf("%d bytes, at most %d", n, MaxPart)}
	}
	return out, nil
}

// fault says why p has no bytes.
func (p *SnapshotPart) fault() string {
	switch {
	case p.Kind < PartStart || p.Kind > PartEnd:
		return "unknown kind"
	case len(p.Resume) > maxResume:
		return fmt.Sprintf("a place to go on from of %d bytes, at most %d", len(p.Resume), maxResume)
	case p.Kind == PartRows && len(p.Rows) == 0, p.Kind == PartDeltas && len(p.Deltas) == 0:
		return "an empty part"
	}
	return ""
}

// ParseSnapshotPart returns the part whose bytes are exactly b; else an error
// that is codec.ErrMalformed. It keeps nothing of b.
func ParseSnapshotPart(b []byte) (*SnapshotPart, error) {
	c := cutter{name: "SnapshotPart", all: b, rest: b}
	if len(b) > MaxPart {
		c.fail("", fmt.Sprintf("%d bytes, at most %d", len(b), MaxPart))
	}
	c.version()
	p := &SnapshotPart{Kind: PartKind(c.u8("kind"))}
	if p.Kind != PartEnd {
		p.Resume = c.bytes("resume")
	}
	switch p.Kind {
	case PartStart:
		p.Context = codec.ContextID(c.hash("context_id"))
		p.Base = c.bytes("base")
	case PartRows:
		p.Rows = make([]StateRow, c.count("rows", 8))
		for i := range p.Rows {
			p.Rows[i] = StateRow{AppKey: c.bytes("app_key"), Value: c.bytes("value")}
		}
	case PartDeltas:
		p.Deltas = make([][]byte, c.count("deltas", 4))
		for i := range p.Deltas {
			p.Deltas[i] = c.bytes("delta")
		}
	case PartEnd:
		p.RowCount, p.DeltaCount = c.u64("rows"), c.u64("deltas")
	}
	if fault := p.fault(); c.err == nil && fault != "" {
		c.fail("", fault)
	}
	if err := c.end(); err != nil {
		return nil, err
	}
	return p, nil
}

func (c *cutter) u64(field string) uint64 {
	if b := c.take(field, 8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}
