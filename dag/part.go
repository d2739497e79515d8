package dag

import (
	"encoding/binary"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/codec/cutter"
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

// partVersion is the first byte of every part.
const partVersion = 1

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
	out := append(dst, partVersion, byte(p.Kind))
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
	c := cutter.New("SnapshotPart", b)
	if len(b) > MaxPart {
		c.Fail("", fmt.Sprintf("%d bytes, at most %d", len(b), MaxPart))
	}
	c.Version(partVersion)
	p := &SnapshotPart{Kind: PartKind(c.U8("kind"))}
	if p.Kind != PartEnd {
		p.Resume = c.Bytes("resume")
	}
	switch p.Kind {
	case PartStart:
		p.Context = codec.ContextID(c.Hash("context_id"))
		p.Base = c.Bytes("base")
	case PartRows:
		p.Rows = make([]StateRow, c.Count("rows", 8))
		for i := range p.Rows {
			p.Rows[i] = StateRow{AppKey: c.Bytes("app_key"), Value: c.Bytes("value")}
		}
	case PartDeltas:
		p.Deltas = make([][]byte, c.Count("deltas", 4))
		for i := range p.Deltas {
			p.Deltas[i] = c.Bytes("delta")
		}
	case PartEnd:
		p.RowCount, p.DeltaCount = c.U64("rows"), c.U64("deltas")
	}
	if fault := p.fault(); c.Err == nil && fault != "" {
		c.Fail("", fault)
	}
	if err := c.End(); err != nil {
		return nil, err
	}
	return p, nil
}
