package diskfile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"slices"
)

// A log is blocks of 32 KiB, the last one shorter. A block is fragments:
//
//	masked CRC-32C of what follows the length 4 | length 2 | type 1 | [log number 4] | data
//
// A record is one fragment, or a first, middle ones and a last. Fewer bytes than
// a header at the end of a block are zero.
const (
	logBlock  = 32 << 10
	logHeader = 7
)

// BlockStart returns where the block of a log begins that a place of it is in: it can be
// read from there on.
func BlockStart(at int64) int64 { return at - at%logBlock }

// Types of fragments. Those of recycled logs, which hold the number of the log,
// are recycled more. The store writes neither these nor any that comes after them.
const (
	fragmentZero   = 0 // space that was reserved, not written
	fragmentFull   = 1
	fragmentFirst  = 2
	fragmentMiddle = 3
	fragmentLast   = 4
	recycled       = 4
)

// maxRecord is the longest record that is put together: a group of batches of
// the store is shorter.
const maxRecord = 256 << 20

// Record is one record of a log.
type Record struct {
	Offset int64 // where it starts in the file
	End    int64 // where it ends
	Data   []byte
	// Recycled says that it is in the form of logs whose files are used again, which
	// the store does not write.
	Recycled bool
}

// Log yields the records of a log in order. Data is valid until the next one. An
// error is a *Damage, after which it goes on with the next block, or what reading
// failed with, after which it ends. A record that the file ends in the middle
// of, as a power loss leaves it, is a *Damage that is Cut. Zeros to the end of the
// file are space that was reserved; zeros with more behind them are damage.
func Log(r io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		l := logReader{yield: yield, table: castagnoli(), zeros: -1}
		block := make([]byte, logBlock)
		for {
			n, err := io.ReadFull(r, block)
			last := err == io.EOF || err == io.ErrUnexpectedEOF
			if err != nil && !last {
				yield(Record{}, err)
				return
			}
			if !l.block(block[:n]) {
				return
			}
			if last {
				l.end()
				return
			}
			l.at += logBlock
		}
	}
}

// Cut reports whether d is the end of a log in the middle of a record.
func (d *Damage) Cut() bool { return d.Reason == cutShort }

const (
	cutShort       = "the file ends in the middle of a record"
	unfilled       = "zeros where a record is due, and more behind them"
	hollow         = "zeros in the middle of a record"
	recycledRecord = "a record in the form of recycled logs, which the store does not write"
	refusedRecord  = "a record whose write was refused"
)

func unknownFragment(typ byte) string {
	return fmt.Sprintf("a fragment of type %d, which the store does not write", typ)
}

// logReader puts records together.
type logReader struct {
	yield func(Record, error) bool
	table *crc32.Table
	at    int64 // where the block starts
	open  bool  // a record has begun
	start int64 // where
	again bool  // a part of it is in the form of recycled logs
	buf   []byte
	zeros int64 // where those start that go on to here; -1: there are none
	stop  bool
}

// block reads the fragments of a block. It returns false if no more are wanted.
func (l *logReader) block(b []byte) bool {
	for pos := 0; len(b)-pos >= logHeader; {
		h := b[pos:]
		length, typ := int(binary.LittleEndian.Uint16(h[4:])), h[6]
		if typ == fragmentZero && length == 0 && binary.LittleEndian.Uint32(h) == 0 { // the rest was never written
			return l.unwritten(h, l.at+int64(pos))
		}
		if l.zeros >= 0 {
			l.endZeros(l.at + int64(pos))
		}
		size := logHeader
		if typ > recycled && typ <= 2*recycled {
			size += 4
		}
		if len(h) < size+length {
			reason := fmt.Sprintf("a length of %d bytes, where the block has %d", length, len(h))
			switch {
			case typ > recycled: // no end of a log that the store has written
				reason = unknownFragment(typ)
			case len(b) < logBlock: // the last block
				reason = cutShort
			}
			l.damage(pos, len(h), reason)
			return !l.stop
		}
		if masked(crc32.Checksum(h[6:size+length], l.table)) != binary.LittleEndian.Uint32(h) {
			l.damage(pos, len(h), "checksum mismatch")
			return !l.stop
		}
		l.fragment(typ, h[size:size+length], l.at+int64(pos), l.at+int64(pos+size+length))
		if l.stop {
			return false
		}
		pos += size + length
	}
	return true
}

// unwritten passes over the rest of a block, which begins with zeros.
func (l *logReader) unwritten(rest []byte, at int64) bool {
	if l.zeros < 0 {
		l.zeros = at
	}
	if slices.ContainsFunc(rest, func(b byte) bool { return b != 0 }) {
		l.endZeros(at + int64(len(rest)))
	}
	return !l.stop
}

// endZeros reports zeros, with what comes behind them, up to a place where something
// may begin.
func (l *logReader) endZeros(upTo int64) {
	at, reason := l.zeros, unfilled
	if l.open {
		at, reason = l.start, hollow
	}
	l.open, l.zeros = false, -1
	l.report(at, upTo-at, reason)
}

func (l *logReader) fragment(typ byte, data []byte, at, end int64) {
	again := typ > recycled && typ <= 2*recycled
	if again {
		typ -= recycled
	}
	begins := typ == fragmentFull || typ == fragmentFirst
	switch {
	case typ > 2*recycled: // settings of the log
		l.report(at, end-at, unknownFragment(typ))
		return
	case begins && l.open:
		l.report(l.start, at-l.start, "a record without an end")
	case !begins && !l.open:
		l.report(at, int64(len(data)), "a part of a record without its beginning")
		return
	case begins:
	case len(l.buf)+len(data) > maxRecord:
		l.open = false
		l.report(l.start, at-l.start, "a record that does not end")
		return
	}
	if l.stop {
		return
	}
	if begins {
		l.open, l.start, l.again, l.buf = true, at, false, l.buf[:0]
	}
	l.again = l.again || again
	l.buf = append(l.buf, data...)
	if typ == fragmentFull || typ == fragmentLast {
		l.open = false
		l.stop = !l.yield(Record{l.start, end, l.buf, l.again}, nil)
	}
}

// damage reports that the block cannot be read from pos on.
func (l *logReader) damage(pos, length int, reason string) {
	at := l.at + int64(pos)
	if l.open {
		length += int(at - l.start)
		at = l.start
		if l.again && reason == cutShort { // the store has not begun it
			reason = recycledRecord
		}
	}
	l.open = false
	l.report(at, int64(length), reason)
}

func (l *logReader) report(at, length int64, reason string) {
	if !l.stop {
		l.stop = !l.yield(Record{}, &Damage{Offset: at, Length: length, Reason: reason})
	}
}

// end reports a record that has no end.
func (l *logReader) end() {
	switch {
	case l.open && l.zeros >= 0:
		l.report(l.start, l.zeros-l.start, hollow)
	case l.open:
		l.damage(int(l.start-l.at)+len(l.buf), 0, cutShort)
	}
}
