package rocks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// The watermark is a sequence that is known to be on disk, and how much of the
// manifest is. RocksDB cannot tell a log, or a manifest, that was cut off at its
// end from a shorter one; a store whose last sequence is below its watermark has
// lost changes. README.md has its format.
const (
	watermarkName  = "stoa.watermark"
	watermarkMagic = "STOAWMK2"
	slotSize       = 512 // what a disk writes at once
	slotUsed       = 44
	slots          = 2 // that are synced
	latestSlot     = 2 // the one behind them, which is not
)

// watermark is the open watermark file of a store. One goroutine at a time may
// raise it, and one, which may be another, note in it.
type watermark struct {
	file       *os.File
	generation uint64 // of the slot that was written last
	older      int    // the slot that is overwritten next
	level

	latest [slotUsed]byte // the latest slot; owned by note
	missed atomic.Pointer[error]
}

// level is what a watermark says.
type level struct {
	sequence uint64
	manifest manifestMark
}

// slot is a level and the generation of the slot that it stands in.
type slot struct {
	level
	generation uint64
}

// readWatermark returns the watermark of dir, the zero slot if there is none to be
// had. A problem says what is wrong with the file.
func readWatermark(dir string) (w slot, problem string) {
	b, err := diskfile.ReadSmall(filepath.Join(dir, watermarkName), maxMark)
	if errors.Is(err, fs.ErrNotExist) {
		return w, watermarkName + " is missing, so that changes lost at the end of the log cannot be noticed"
	}
	if err != nil {
		return w, fmt.Sprintf("%s cannot be read, so that changes lost at the end of the log cannot be noticed: %v", watermarkName, err)
	}
	damaged := 0
	for i := range slots {
		s, ok := parseSlot(b, i)
		if !ok {
			damaged++
		} else if s.generation >= w.generation {
			w = s
		}
	}
	// A power loss may leave the latest slot in part: then it says nothing.
	if latest, ok := parseSlot(b, latestSlot); ok && damaged < slots {
		w.sequence = max(w.sequence, latest.sequence)
	}
	switch damaged {
	case 0:
	case slots:
		problem = watermarkName + " is damaged, so that changes lost at the end of the log cannot be noticed"
	default:
		problem = fmt.Sprintf("one of the two halves of %s is damaged; the other says %d", watermarkName, w.sequence)
	}
	return w, problem
}

func parseSlot(b []byte, i int) (s slot, ok bool) {
	if len(b) < i*slotSize+slotUsed {
		return s, false
	}
	b = b[i*slotSize:][:slotUsed]
	if string(b[:8]) == firstMagic {
		return parseFirst(b)
	}
	if string(b[:8]) != watermarkMagic || binary.LittleEndian.Uint32(b[40:]) != castagnoli(b[:40]) {
		return s, false
	}
	s.generation = binary.LittleEndian.Uint64(b[8:])
	s.sequence = binary.LittleEndian.Uint64(b[16:])
	s.manifest.number = binary.LittleEndian.Uint64(b[24:])
	s.manifest.bytes = binary.LittleEndian.Uint64(b[32:])
	return s, true
}

// firstMagic begins a slot of format 1, which says nothing of the manifest.
const firstMagic = "STOAWMK1"

func parseFirst(b []byte) (s slot, ok bool) {
	if binary.LittleEndian.Uint32(b[24:]) != castagnoli(b[:24]) {
		return s, false
	}
	s.generation = binary.LittleEndian.Uint64(b[8:])
	s.sequence = binary.LittleEndian.Uint64(b[16:])
	return s, true
}

func (s slot) bytes() []byte { return s.append(make([]byte, 0, slotSize))[:slotSize] }

// append appends the slotUsed bytes of s to b.
func (s slot) append(b []byte) []byte {
	start := len(b)
	b = append(b, watermarkMagic...)
	b = binary.LittleEndian.AppendUint64(b, s.generation)
	b = binary.LittleEndian.AppendUint64(b, s.sequence)
	b = binary.LittleEndian.AppendUint64(b, s.manifest.number)
	b = binary.LittleEndian.AppendUint64(b, s.manifest.bytes)
	return binary.LittleEndian.AppendUint32(b, castagnoli(b[start:]))
}

// writeWatermark puts a new watermark file in dir, which says the same in all
// slots.
func writeWatermark(dir string, l level, generation uint64) error {
	b := append(slot{l, generation}.bytes(), slot{l, generation + 1}.bytes()...)
	b = append(b, slot{l, 0}.bytes()...)
	return writeFile(filepath.Join(dir, watermarkName), b)
}

// openWatermark starts the watermark of dir anew at l, and keeps its file open.
// generation is that of the file before.
func openWatermark(dir string, l level, generation uint64) (*watermark, error) {
	if err := writeWatermark(dir, l, generation+1); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, watermarkName), os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return &watermark{file: f, generation: generation + 2, level: l}, nil
}

// note records a sequence that is on disk already, and does not sync that: a kill
// leaves it to be found, and a power loss may leave an older one, never a greater. It
// is fast enough to follow each sync of the log. What goes wrong takeMissed returns.
func (w *watermark) note(sequence uint64) {
	slot{level: level{sequence: sequence}}.append(w.latest[:0])
	if _, err := w.file.WriteAt(w.latest[:], latestSlot*slotSize); err != nil {
		missed := err // only this is on the heap
		w.missed.CompareAndSwap(nil, &missed)
	}
}

// takeMissed returns why a note was not written, once.
func (w *watermark) takeMissed() error {
	if missed := w.missed.Swap(nil); missed != nil {
		return *missed
	}
	return nil
}

// raise records l, which must be on disk already. It overwrites the older slot in
// place, which takes no space: a crash in the middle leaves the other. The sequence
// never falls.
func (w *watermark) raise(l level) error {
	if l.sequence = max(l.sequence, w.sequence); l == w.level {
		return nil
	}
	next := slot{l, w.generation + 1}
	if _, err := w.file.WriteAt(next.bytes(), int64(w.older)*slotSize); err != nil {
		return err
	}
	if err := w.file.Sync(); err != nil {
		return err
	}
	w.generation, w.older, w.level = next.generation, 1-w.older, l
	return nil
}

func (w *watermark) close() error { return w.file.Close() }
