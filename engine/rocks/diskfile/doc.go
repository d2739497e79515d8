// Package diskfile reads the files of a RocksDB directory without RocksDB: the
// write-ahead logs, the manifest, tables and blob files. It goes on behind
// damage, which it reports, where RocksDB would refuse the whole directory, and
// never aborts.
//
// Start at Log and Table, or at Reader, which is strict: it reads the rows of a directory,
// and takes damage for an error. README.md of package inspect has what is known of the
// formats, which are those of RocksDB 7 to 11 as package rocks sets them, and those that
// RocksDB 9 to 11 write by themselves.
package diskfile

import (
	"errors"
	"fmt"
	"hash/crc32"
)

// ErrDamaged marks bytes that are not what their format or their checksum says.
// The error itself is a *Damage where it has a place.
var ErrDamaged = errors.New("diskfile: damaged")

// ErrFormat marks what is in a format that this build does not read, as another
// RocksDB or other settings write it. It is ErrDamaged too.
var ErrFormat = errors.New("diskfile: unknown format")

// unknownFormat says which.
type unknownFormat string

func (u unknownFormat) Error() string { return ErrFormat.Error() + ": " + string(u) }

// Is reports whether target is ErrFormat or ErrDamaged.
func (u unknownFormat) Is(target error) bool { return target == ErrFormat || target == ErrDamaged }

// Damage is a place of a file that cannot be read.
type Damage struct {
	Offset int64 // where it starts
	Length int64 // how many bytes are passed over; 0: that is not known
	Reason string
}

// Error says where and why.
func (d *Damage) Error() string {
	return fmt.Sprintf("diskfile: damaged at byte %d: %s", d.Offset, d.Reason)
}

// Is reports whether target is ErrDamaged.
func (d *Damage) Is(target error) bool { return target == ErrDamaged }

// masked returns the checksum that RocksDB stores of CRC-32C.
func masked(crc uint32) uint32 { return (crc>>15 | crc<<17) + 0xa282ead8 }

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }
