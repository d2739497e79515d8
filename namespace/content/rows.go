package content

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace/envelope"
)

// The scopes of the rows, in column Generic: README.md has what is in them. They are never written to.
var (
	signedScope   = keys.MustScope("dag-signed")
	envelopeScope = keys.MustScope("dag-envelope")
	cutScope      = keys.MustScope("dag-cut")
	heldScope     = keys.MustScope("dag-held")
)

// rowKey returns scope ‖ context ‖ id.
func rowKey(scope keys.Scope, context codec.ContextID, id [32]byte) []byte {
	return append(prefixOf(scope, context), id[:]...)
}

// prefixOf returns scope ‖ context.
func prefixOf(scope keys.Scope, context codec.ContextID) []byte {
	return append(scope[:], context[:]...)
}

// prefixLen is the length of what prefixOf returns.
const prefixLen = len(keys.Scope{}) + len(codec.ContextID{})

// damage is a row that does not parse. It is engine.ErrCorrupt.
func damage(key []byte, fault string) error {
	return fmt.Errorf("content: %w: %s %x: %s", engine.ErrCorrupt, column.Generic, key, fault)
}

// signed is what is kept of the envelope of a delta that counts: all but the sealed bytes.
type signed struct {
	id   codec.EnvelopeID
	time uint64 // of the delta's stamp
	codec.DeltaEnvelope
}

// appendSigned appends envelope_id 32 ‖ time u64 LE ‖ the envelope with no sealed bytes.
func appendSigned(dst []byte, e *envelope.Envelope, time uint64) ([]byte, error) {
	v := e.DeltaEnvelope
	v.Sealed = nil
	return v.AppendBinary(binary.LittleEndian.AppendUint64(append(dst, e.ID[:]...), time))
}

func parseSigned(key, value []byte) (s signed, err error) {
	const before = len(codec.EnvelopeID{}) + 8
	if len(value) < before {
		return s, damage(key, "no envelope")
	}
	s.id, s.time = codec.EnvelopeID(value), binary.LittleEndian.Uint64(value[len(s.id):])
	if s.DeltaEnvelope, err = s.Decode(value[before:]); err != nil {
		return s, damage(key, err.Error())
	}
	return s, nil
}

// readSigned returns the envelope of a delta; found is false for one that has none.
func readSigned(r engine.Getter, context codec.ContextID, delta codec.DeltaID) (s signed, found bool, err error) {
	key := rowKey(signedScope, context, delta)
	b, found, err := get(r, key)
	if err == nil && found {
		s, err = parseSigned(key, b)
	}
	return s, found, err
}

// DeltaOf returns the delta in an envelope that counts, by its row.
func DeltaOf(r engine.Getter, context codec.ContextID, id codec.EnvelopeID) (delta codec.DeltaID, found bool, err error) {
	key := rowKey(envelopeScope, context, id)
	b, found, err := get(r, key)
	if err == nil && found && len(b) != len(delta) {
		return delta, false, damage(key, "not the id of a delta")
	}
	if found {
		delta = codec.DeltaID(b)
	}
	return delta, found, err
}

func get(r engine.Getter, key []byte) (value []byte, found bool, err error) {
	value, err = r.Get(nil, column.Generic, key)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, false, nil
	}
	return value, err == nil, err
}

// cutID names a set of heads of governance.
type cutID [sha256.Size]byte

func idOfCut(heads []codec.OpID) cutID {
	b := make([]byte, 0, len(heads)*len(codec.OpID{}))
	for i := range heads {
		b = append(b, heads[i][:]...)
	}
	return sha256.Sum256(b)
}

// The kinds of rows of cutScope.
const (
	headsRow  = 'h' // ‖ context ‖ cut → op_id 32 of each head: a delta that counts was made there
	memberRow = 'm' // ‖ context ‖ cut ‖ envelope_id → empty
)

func cutKey(kind byte, context codec.ContextID, id ...byte) []byte {
	return append(append(append(cutScope[:], kind), context[:]...), id...)
}

func putHeads(b *engine.Batch, context codec.ContextID, id cutID, heads []codec.OpID) {
	var value []byte
	for i := range heads {
		value = append(value, heads[i][:]...)
	}
	b.Put(column.Generic, cutKey(headsRow, context, id[:]...), value)
}

// memberKey returns the key of the row of an envelope at a cut.
func memberKey(context codec.ContextID, id cutID, e codec.EnvelopeID) []byte {
	return append(cutKey(memberRow, context, id[:]...), e[:]...)
}

func readCuts(r engine.Reader, context codec.ContextID) (map[cutID][]codec.OpID, error) {
	cuts := map[cutID][]codec.OpID{}
	err := engine.Each(r, column.Generic, engine.Prefixed(cutKey(headsRow, context)), func(key, value []byte) error {
		const before = 1 + prefixLen
		if len(key) != before+len(cutID{}) || len(value) == 0 || len(value)%len(codec.OpID{}) != 0 {
			return damage(key, "not a cut")
		}
		var heads []codec.OpID
		for ; len(value) > 0; value = value[len(codec.OpID{}):] {
			heads = append(heads, codec.OpID(value))
		}
		cuts[cutID(key[before:])] = heads
		return nil
	})
	return cuts, err
}

// errStop ends a scan that has seen enough.
var errStop = errors.New("content: enough")

// isUsed reports whether a delta that counts was made at a cut, other than those of without.
func isUsed(r engine.Reader, context codec.ContextID, id cutID, without map[codec.EnvelopeID]*node) (is bool, err error) {
	prefix := cutKey(memberRow, context, id[:]...)
	err = engine.Each(r, column.Generic, engine.Prefixed(prefix), func(key, _ []byte) error {
		if len(key) != len(prefix)+len(codec.EnvelopeID{}) {
			return damage(key, "not an envelope at a cut")
		}
		if is = without[codec.EnvelopeID(key[len(prefix):])] == nil; is {
			return errStop
		}
		return nil
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return is, err
}

// held is an envelope that is set aside.
type held struct {
	*envelope.Envelope
	delta codec.DeltaID
	time  uint64
}

// appendHeld appends delta_id 32 ‖ time u64 LE ‖ the envelope as it travels.
func appendHeld(dst []byte, h *held) []byte {
	dst = binary.LittleEndian.AppendUint64(append(dst, h.delta[:]...), h.time)
	return append(dst, h.Bytes()...)
}

func readHeld(r engine.Reader, context codec.ContextID) (map[codec.EnvelopeID]*held, error) {
	all := map[codec.EnvelopeID]*held{}
	err := engine.Each(r, column.Generic, engine.Prefixed(prefixOf(heldScope, context)), func(key, value []byte) error {
		h, err := parseHeld(key, value)
		if err == nil {
			all[h.ID] = h
		}
		return err
	})
	return all, err
}

func parseHeld(key, value []byte) (*held, error) {
	h := &held{}
	const before = len(codec.DeltaID{}) + 8
	if len(value) < before {
		return nil, damage(key, "no envelope")
	}
	h.delta, h.time = codec.DeltaID(value), binary.LittleEndian.Uint64(value[len(h.delta):])
	var err error
	if h.Envelope, err = envelope.Parse(value[before:]); err != nil {
		return nil, damage(key, err.Error())
	}
	return h, nil
}

// newest orders by time and id, the newest first.
func newest(aTime, bTime uint64, a, b codec.EnvelopeID) int {
	return cmp.Or(cmp.Compare(bTime, aTime), bytes.Compare(b[:], a[:]))
}

// sortedHeld returns what is held, the newest first.
func sortedHeld(all map[codec.EnvelopeID]*held) []*held {
	list := make([]*held, 0, len(all))
	for _, h := range all {
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b *held) int { return newest(a.time, b.time, a.ID, b.ID) })
	return list
}
