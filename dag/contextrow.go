package dag

import (
	"github.com/stoadb/stoa/codec"
)

// seedPhase is how far the adoption of a snapshot has come. The zero seedPhase is
// none.
type seedPhase uint8

const (
	notSeeding seedPhase = iota
	staging              // rows of a snapshot are being received
	adopting             // they are verified and take the place of the context's own: to be rolled forward
)

// contextRow is what is stored of a context beside Meta; a plain context has no
// such row.
type contextRow struct {
	base   stamp // of a seeded context; the zero id: none
	reseed bool
	phase  seedPhase
}

// seeded reports whether the context has begun with a snapshot.
func (r *contextRow) seeded() bool { return !r.base.id.IsZero() }

// contextRowKey appends the key of the row.
func contextRowKey(dst []byte, context *codec.ContextID) []byte {
	return contextPrefix(dst, contextScope, context)
}

// appendBinary appends
//
//	base delta_id 32 ‖ base hlc 24 ‖ flags u8, bit 0 reseed ‖ phase u8
func (r *contextRow) appendBinary(dst []byte) []byte {
	dst = appendStamp(append(dst, r.base.id[:]...), r.base.hlc)
	flags := byte(0)
	if r.reseed {
		flags = 1
	}
	return append(dst, flags, byte(r.phase))
}

// parseContextRow returns the row whose bytes are b, and false if they are none.
func parseContextRow(b []byte) (r contextRow, ok bool) {
	if len(b) != 32+24+2 || b[56] > 1 || b[57] > byte(adopting) {
		return r, false
	}
	r.base = stamp{hlc: cutStamp(b[32:]), id: codec.DeltaID(b)}
	r.reseed, r.phase = b[56] == 1, seedPhase(b[57])
	return r, true
}
