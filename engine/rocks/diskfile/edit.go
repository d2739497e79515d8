package diskfile

import (
	"encoding/binary"
	"fmt"
)

// Fields of a version edit, the record of a manifest:
//
//	field u varint | what it holds
//
// Those from fieldIgnorable on have a length before what they hold, so that they
// can be passed over.
const (
	fieldComparator   = 1
	fieldLogNumber    = 2
	fieldNextFile     = 3
	fieldLastSequence = 4
	fieldCursor       = 5
	fieldDeletedFile  = 6
	fieldPrevLog      = 9
	fieldMinLog       = 10
	fieldNewFile      = 103
	fieldFamily       = 200
	fieldFamilyAdd    = 201
	fieldFamilyDrop   = 202
	fieldMaxFamily    = 203
	fieldAtomicGroup  = 300
	fieldBlobFile     = 400
	fieldBlobGarbage  = 401
	fieldIgnorable    = 1 << 13
	fieldLogSynced    = 8199
	fieldLogsGone     = 8200

	newFileEnd    = 1
	blobFileEnd   = 0
	logSyncedSize = 2
)

// edit is a version edit: how the tables of a family change.
type edit struct {
	family       uint32
	name         string // of the family, if it is added
	drop         bool   // of the family
	logNumber    uint64 // 0: as it was
	lastSequence uint64
	sequenced    bool // lastSequence is there
	deleted      []uint64
	added        []added
	synced       []syncedLog
	logsFrom     uint64 // logs before this one are gone; 0: none
	minLog       uint64 // logs before this one have nothing that is in no table; 0: as it was
}

// syncedLog is a log that nothing more is written to, and how much of it is on disk.
type syncedLog struct{ number, bytes uint64 }

// added is a table that an edit adds.
type added struct {
	number uint64
	ListedTable
}

// parseEdit returns the edit of a record. It returns ErrDamaged for what is none,
// and for a field that this build does not know and that may not be passed over.
func parseEdit(record []byte) (e edit, err error) {
	for c := (cutter{rest: record}); len(c.rest) > 0; {
		switch field := c.number(); field {
		case fieldComparator:
			c.part()
		case fieldFamilyAdd:
			e.name = string(c.part())
		case fieldFamilyDrop:
			e.drop = true
		case fieldFamily:
			e.family = uint32(c.number())
		case fieldLogNumber:
			e.logNumber = c.number()
		case fieldLastSequence:
			e.lastSequence, e.sequenced = c.number(), true
		case fieldMinLog:
			e.minLog = c.number()
		case fieldNextFile, fieldPrevLog, fieldMaxFamily, fieldAtomicGroup:
			c.number()
		case fieldCursor:
			c.number()
			c.part()
		case fieldDeletedFile:
			c.number() // its level
			e.deleted = append(e.deleted, c.number())
		case fieldNewFile:
			e.added = append(e.added, c.table())
		case fieldBlobFile:
			c.blobFile()
		case fieldBlobGarbage:
			c.numbers(3)
			c.customs(blobFileEnd)
		case fieldLogSynced:
			e.synced = append(e.synced, parseSynced(c.part()))
		case fieldLogsGone:
			gone := cutter{rest: c.part()}
			e.logsFrom = gone.number()
		default:
			if field < fieldIgnorable {
				return e, fmt.Errorf("%w: a version edit with the field %d, which this build does not know", ErrDamaged, field)
			}
			c.part()
		}
		if c.bad {
			return e, fmt.Errorf("%w: a version edit does not parse", ErrDamaged)
		}
	}
	return e, nil
}

// parseSynced returns a log whose bytes are 0 where they are not named.
func parseSynced(b []byte) (s syncedLog) {
	c := cutter{rest: b}
	s.number = c.number()
	if c.number() == logSyncedSize {
		s.bytes = c.number()
	}
	return s
}

// cutter splits parts off bytes. What cannot be split off is zero, and sets bad.
type cutter struct {
	rest []byte
	bad  bool
}

func (c *cutter) number() uint64 {
	v, n := binary.Uvarint(c.rest)
	if n <= 0 {
		c.rest, c.bad = nil, true
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

func (c *cutter) numbers(n int) {
	for range n {
		c.number()
	}
}

func (c *cutter) part() []byte {
	part, rest, ok := cutPart(c.rest)
	c.rest, c.bad = rest, c.bad || !ok
	return part
}

// customs passes over fields of a table or a blob file, up to the one that ends
// them.
func (c *cutter) customs(end uint64) {
	for !c.bad && c.number() != end {
		c.part()
	}
}

func (c *cutter) table() (a added) {
	a.Level = int(c.number())
	a.number = c.number()
	a.Size = c.number()
	c.part() // its smallest key
	c.part() // and its largest
	a.First, a.Last = c.number(), c.number()
	c.customs(newFileEnd)
	return a
}

func (c *cutter) blobFile() {
	c.numbers(3)
	c.part()
	c.part()
	c.customs(blobFileEnd)
}
