package record

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Doc is a document as it is, or was at a revision.
type Doc struct {
	ID       string
	Revision uint64          // of the change that made it so, in its collection
	Ordinal  uint64          // the revision of its creation: lists go by it
	JSON     json.RawMessage // in canonical form; nil: it was removed by this revision
	Written  time.Time       // when that was
	Expires  time.Time       // zero: never
}

// The value of a row is ordinal u64, big endian ‖ the document in canonical form.
const ordinalBytes = 8

func stored(ordinal uint64, doc json.RawMessage) []byte {
	value := make([]byte, 0, ordinalBytes+len(doc))
	return append(binary.BigEndian.AppendUint64(value, ordinal), doc...)
}

// cut is the ordinal and the document of a stored value; a value that is none has
// neither.
func cut(value []byte) (ordinal uint64, doc json.RawMessage) {
	if len(value) <= ordinalBytes {
		return 0, nil
	}
	return binary.BigEndian.Uint64(value), value[ordinalBytes:]
}

// doc is the document of a record, which shares memory with it.
func (c *Collection) doc(r kv.Record) (Doc, error) {
	d := Doc{ID: c.ID.of(r.Key), Revision: r.Revision, Written: r.Written, Expires: r.Expires}
	if r.Kind != kv.Put {
		return d, nil
	}
	if d.Ordinal, d.JSON = cut(r.Value); d.JSON == nil {
		return d, fmt.Errorf("record: %s: %w: revision %d has no document", c.Name, engine.ErrCorrupt, r.Revision)
	}
	return d, nil
}
