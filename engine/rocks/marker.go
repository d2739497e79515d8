package rocks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// The clean-shutdown marker is there exactly while the store is closed and
// nothing of it is only in memory. README.md has its format.
const (
	markerName  = "stoa.clean"
	markerMagic = "STOACLN1"
	markerSize  = 24
	maxMark     = 64 << 10 // bytes that are read of the marker, and of the watermark
)

// castagnoli returns the checksum of the marker and the watermark.
func castagnoli(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// marker is what a clean shutdown leaves.
type marker struct {
	schema   uint32
	sequence uint64
}

// readMarker returns the marker of dir. One that is not there, or damaged, is
// not ok; a problem says which damage.
func readMarker(dir string) (m marker, ok bool, problem string) {
	b, err := diskfile.ReadSmall(filepath.Join(dir, markerName), maxMark)
	if errors.Is(err, fs.ErrNotExist) {
		return m, false, ""
	}
	if err != nil {
		return m, false, fmt.Sprintf("%s cannot be read, so that the shutdown counts as unclean: %v", markerName, err)
	}
	if m, ok = parseMarker(b); !ok {
		return m, false, markerName + " is damaged, so that the shutdown counts as unclean"
	}
	return m, true, ""
}

func parseMarker(b []byte) (m marker, ok bool) {
	if len(b) != markerSize || string(b[:8]) != markerMagic || binary.LittleEndian.Uint32(b[20:]) != castagnoli(b[:20]) {
		return m, false
	}
	return marker{binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint64(b[12:])}, true
}

func (m marker) append(b []byte) []byte {
	start := len(b)
	b = append(b, markerMagic...)
	b = binary.LittleEndian.AppendUint32(b, m.schema)
	b = binary.LittleEndian.AppendUint64(b, m.sequence)
	return binary.LittleEndian.AppendUint32(b, castagnoli(b[start:]))
}

// writeMarker puts m in dir. It returns when m is on disk.
func writeMarker(dir string, m marker) error {
	return writeFile(filepath.Join(dir, markerName), m.append(nil))
}

// removeMarker removes the marker of dir, if there is one. It returns when it
// is gone from the disk.
func removeMarker(dir string) error {
	err := os.Remove(filepath.Join(dir, markerName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncDir(dir)
}

// writeFile puts a file with the content b at path, all or nothing, and returns
// when it is on disk. The temporary file has always the same name, so that kills
// leave one at most; only one process at a time has the directory.
func writeFile(path string, b []byte) (err error) {
	f, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	return err
}

// syncDir returns when the entries of dir are on disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
