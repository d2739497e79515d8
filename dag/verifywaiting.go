package dag

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// waiting looks at the rows that a replay does not make: of what waits, of what
// was refused, and of followers. Each is compared with those that mirror it.
func (v *verifier) waiting() error {
	id := &v.past.context
	for _, part := range []struct {
		prefix []byte
		row    func(key, value []byte) (fault string, err error)
		code   FindingCode
	}{
		{kindPrefix(nil, pendingScope, arrivalRow, id), v.arrival, FindingPending},
		{kindPrefix(nil, pendingScope, indexRow, id), v.waits, FindingPending},
		{kindPrefix(nil, pendingScope, missingRow, id), v.missing, FindingPending},
		{kindPrefix(nil, pendingScope, readyRow, id), v.ready, FindingPending},
		{kindPrefix(nil, pendingScope, waiterRow, id), v.waiter, FindingPending},
		{kindPrefix(nil, refusedScope, refusalRow, id), v.refusal, FindingRefusal},
		{kindPrefix(nil, refusedScope, refusalIndexRow, id), v.refusalIndex, FindingRefusal},
		{contextPrefix(nil, cursorScope, id), v.cursor, FindingCursor},
	} {
		err := each(v.past.r, engine.Prefixed(part.prefix), func(key, value []byte) error {
			v.report.Rows++
			fault, err := part.row(key, value)
			if fault != "" && err == nil {
				v.report.find(Finding{Code: part.code, Column: column.Generic, Key: bytes.Clone(key), Detail: fault})
			}
			return errors.Join(v.damage(err), v.ctx.Err())
		})
		if err := v.damage(err); err != nil {
			return err
		}
	}
	return nil
}

// there returns the row of Generic under key, if there is one.
func (v *verifier) there(key []byte) (value []byte, ok bool, err error) {
	value, err = v.past.r.Get(nil, column.Generic, key)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, false, nil
	}
	return value, err == nil, err
}

// pending returns the delta of a row that says that it waits, and what is wrong if
// it does not.
func (v *verifier) pending(id *codec.DeltaID) (d *Delta, fault string, err error) {
	row, ok, err := readDelta(v.past.r, v.past.context, id)
	switch {
	case err != nil:
		return nil, "", err
	case !ok:
		return nil, "the delta is not there", nil
	case row.Applied:
		return nil, "the delta is applied", nil
	}
	return rowDelta(v.past.context, &row), "", nil
}

func (v *verifier) arrival(key, value []byte) (string, error) {
	arrival, id, size, ok := parseArrival(key, value)
	if !ok {
		return "not an arrival", nil
	}
	d, fault, err := v.pending(&id)
	if fault != "" || err != nil {
		return fault, err
	}
	if got := d.ID(); got != id {
		return fmt.Sprintf("the bytes of the delta have the id %s", got), nil
	}
	wire, err := d.AppendBinary(nil)
	if err == nil && uint64(len(wire)) != size {
		return fmt.Sprintf("the delta takes %d bytes, not %d", len(wire), size), nil
	}
	return v.mirrored(pendingKey(nil, indexRow, &v.past.context, &id), arrival, err)
}

// mirrored says what is wrong unless the row under key is the number n.
func (v *verifier) mirrored(key []byte, n uint64, err error) (string, error) {
	var b []byte
	if err == nil {
		b, err = v.past.r.Get(nil, column.Generic, key)
	}
	if errors.Is(err, engine.ErrNotFound) {
		return "its index has no row", nil
	}
	if got, ok := parseU64(b); err == nil && (!ok || got != n) {
		return "its index says another number", nil
	}
	return "", err
}

// waits looks at a delta that waits: it has come, and for each of its parents that
// is not applied a row says so, unless it has been woken.
func (v *verifier) waits(key, value []byte) (string, error) {
	id, ok := idAfter(key, kindPrefixLen)
	arrival, parsed := parseU64(value)
	if !ok || !parsed {
		return "not an index of arrivals", nil
	}
	row, ok, err := v.there(arrivalKey(nil, &v.past.context, arrival))
	if err != nil {
		return "", err
	}
	if _, of, _, parsed := parseArrival(arrivalKey(nil, &v.past.context, arrival), row); !ok || !parsed || of != id {
		return "there is no such arrival", nil
	}
	d, fault, err := v.pending(&id)
	if fault != "" || err != nil {
		return fault, err
	}
	if _, ready, err := v.there(pendingKey(nil, readyRow, &v.past.context, &id)); ready || err != nil {
		return "", err
	}
	none := true
	for i := range d.Parents {
		p := &d.Parents[i]
		if _, applied, err := readSeq(v.past.r, &v.past.context, p); err != nil {
			return "", err
		} else if applied {
			continue
		}
		none = false
		if _, ok, err := v.there(waiterKey(nil, &v.past.context, p, &id)); !ok || err != nil {
			return fmt.Sprintf("no row says that it waits for its parent %s", p), err
		}
	}
	if none {
		return "it waits for nothing, and no row says that it is ready", nil
	}
	return "", nil
}

func (v *verifier) missing(key, _ []byte) (string, error) {
	id, ok := idAfter(key, kindPrefixLen)
	if !ok {
		return "not a delta that is missing", nil
	}
	_, waits, err := v.there(pendingKey(nil, indexRow, &v.past.context, &id))
	if waits || err != nil {
		return "the delta is here, and waits", err
	}
	if _, applied, err := readSeq(v.past.r, &v.past.context, &id); applied || err != nil {
		return "the delta is applied", err
	}
	rg := engine.Prefixed(waiterPrefix(nil, &v.past.context, &id))
	rg.Limit = 1
	fault := "nothing waits for the delta"
	err = each(v.past.r, rg, func(_, _ []byte) error {
		fault = ""
		return nil
	})
	return fault, err
}

func (v *verifier) ready(key, _ []byte) (string, error) {
	id, ok := idAfter(key, kindPrefixLen)
	if !ok {
		return "not a delta that is ready", nil
	}
	if _, ok, err := v.there(pendingKey(nil, indexRow, &v.past.context, &id)); !ok || err != nil {
		return "the delta does not wait", err
	}
	return "", nil
}

func (v *verifier) waiter(key, _ []byte) (string, error) {
	child, ok := idAfter(key, kindPrefixLen+32)
	if !ok {
		return "not a delta and what it waits for", nil
	}
	parent := codec.DeltaID(key[kindPrefixLen:])
	if _, ok, err := v.there(pendingKey(nil, indexRow, &v.past.context, &child)); !ok || err != nil {
		return "the delta does not wait", err
	}
	if _, applied, err := readSeq(v.past.r, &v.past.context, &parent); applied || err != nil {
		return "the parent is applied", err
	}
	for _, kind := range []byte{indexRow, missingRow} {
		if _, ok, err := v.there(pendingKey(nil, kind, &v.past.context, &parent)); ok || err != nil {
			return "", err
		}
	}
	return "the parent neither waits, nor is it missing", nil
}

func (v *verifier) refusal(key, value []byte) (string, error) {
	r, ok := parseRefusal(value)
	if !ok || len(key) != kindPrefixLen+8 {
		return "not a refusal", nil
	}
	return v.mirrored(refusalIndexKey(nil, &v.past.context, &r.Delta), binary.BigEndian.Uint64(key[kindPrefixLen:]), nil)
}

func (v *verifier) refusalIndex(key, value []byte) (string, error) {
	id, ok := idAfter(key, kindPrefixLen)
	seq, parsed := parseU64(value)
	if !ok || !parsed {
		return "not an index of refusals", nil
	}
	row, ok, err := v.there(refusalKey(nil, &v.past.context, seq))
	if err != nil {
		return "", err
	}
	if r, parsed := parseRefusal(row); !ok || !parsed || r.Delta != id {
		return "there is no such refusal", nil
	}
	return "", nil
}

func (v *verifier) cursor(_, value []byte) (string, error) {
	if seq, ok := parseU64(value); !ok || seq > v.last {
		return fmt.Sprintf("it is beyond the last delta, number %d", v.last), nil
	}
	return "", nil
}
