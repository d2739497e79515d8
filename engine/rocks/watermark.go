package rocks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The watermark is a sequence that is known to be on disk. RocksDB cannot tell a
// log that was cut off at its end from a shorter one; a store whose last
// sequence is below its watermark has lost changes. README.md has its format.
const (
	watermarkName  = "stoa.watermark"
	watermarkMagic = "STOAWMK1"
	slotSize       = 512 // what a disk writes at once
	slotUsed       = 28
	slots          = 2
)

// watermark is the open watermark file of a store. It is not safe for
// concurrent use.
type watermark struct {
	file       *os.File
	generation uint64 // of the slot that was written last
	older      int    // the slot that is overwritten next
	sequence   uint64
}

// readWatermark returns the watermark of dir, 0 if there is none to be had. A
// problem says what is wrong with the file.
func readWatermark(dir string) (sequence, generation uint64, problem string) {
	b, err := os.ReadFile(filepath.Join(dir, watermarkName))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, watermarkName + " is missing, so that changes lost at the end of the log cannot be noticed"
	}
	if err != nil {
		return 0, 0, fmt.Sprintf("%s cannot be read, so that changes lost at the end of the log cannot be noticed: %v", watermarkName, err)
	}
	damaged := 0
	for i := range slots {
		s, g, ok := parseSlot(b, i)
		if !ok {
			damaged++
		} else if g >= generation {
			sequence, generation = s, g
		}
	}
	switch damaged {
	case 0:
	case slots:
		problem = watermarkName + " is damaged, so that changes lost at the end of the log cannot be noticed"
	default:
		problem = fmt.Sprintf("one of the two halves of %s is damaged; the other says %d", watermarkName, sequence)
	}
	return sequence, generation, problem
}

func parseSlot(b []byte, i int) (sequence, generation uint64, ok bool) {
	if len(b) < i*slotSize+slotUsed {
		return 0, 0, false
	}
	b = b[i*slotSize:][:slotUsed]
	if string(b[:8]) != watermarkMagic || binary.LittleEndian.Uint32(b[24:]) != castagnoli(b[:24]) {
		return 0, 0, false
	}
	return binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[8:]), true
}

func makeSlot(sequence, generation uint64) []byte {
	b := make([]byte, 0, slotSize)
	b = append(b, watermarkMagic...)
	b = binary.LittleEndian.AppendUint64(b, generation)
	b = binary.LittleEndian.AppendUint64(b, sequence)
	return binary.LittleEndian.AppendUint32(b, castagnoli(b))[:slotSize]
}

// writeWatermark puts a new watermark file in dir, which says the same in both
// slots.
func writeWatermark(dir string, sequence, generation uint64) error {
	b := append(makeSlot(sequence, generation), makeSlot(sequence, generation+1)...)
	return writeFile(filepath.Join(dir, watermarkName), b)
}

// openWatermark starts the watermark of dir anew at sequence, and keeps its file
// open. generation is that of the file before.
func openWatermark(dir string, sequence, generation uint64) (*watermark, error) {
	if err := writeWatermark(dir, sequence, generation+1); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, watermarkName), os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return &watermark{file: f, generation: generation + 2, sequence: sequence}, nil
}

// raise records sequence, which must be on disk already. It overwrites the older
// slot in place, which takes no space: a crash in the middle leaves the other.
func (w *watermark) raise(sequence uint64) error {
	if sequence <= w.sequence {
		return nil
	}
	next := w.generation + 1
	if _, err := w.file.WriteAt(makeSlot(sequence, next), int64(w.older)*slotSize); err != nil {
		return err
	}
	if err := w.file.Sync(); err != nil {
		return err
	}
	w.generation, w.older, w.sequence = next, 1-w.older, sequence
	return nil
}

func (w *watermark) close() error { return w.file.Close() }
