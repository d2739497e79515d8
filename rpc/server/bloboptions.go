package server

import (
	"fmt"
	"os"
	"time"

	"github.com/stoadb/stoa/rpc"
)

// BlobOptions say how blobs are taken and given out. The zero BlobOptions are
// the defaults.
type BlobOptions struct {
	// SpoolDir is a directory that only the daemon's user can reach, in which
	// uploads wait whose id is not declared; New makes it if it is not there.
	// Empty: uploads of more than 1 MiB have to declare their id, else they are
	// refused as unsupported. The directory that it is in is held open, so that it is
	// found where that is moved.
	SpoolDir string
	// MinFreeBytes is the free space of the disk of SpoolDir below which nothing
	// is spooled; 0: 256 MiB; negative: none is kept free.
	MinFreeBytes int64
	// MaxTransfers is how many uploads, downloads and verifications may be under
	// way at once, of up to 8 MiB of memory each; what exceeds it is refused as
	// busy. 0: 64.
	MaxTransfers int
	// Idle is how long a client may keep an upload or a download waiting, which
	// is ended then; 0: 1 minute.
	Idle time.Duration

	maxSize   uint64                                     // bytes of a blob; tests set a smaller one
	freeBytes func(dir *os.File) (free int64, err error) // tests set it
}

func (o BlobOptions) withDefaults() (BlobOptions, error) {
	if o.MaxTransfers < 0 {
		return o, fmt.Errorf("%w: a limit is negative", ErrOptions)
	}
	if o.Idle < 0 {
		return o, fmt.Errorf("%w: a time is negative", ErrOptions)
	}
	setDefault(&o.MinFreeBytes, 256<<20)
	setDefault(&o.MaxTransfers, 64)
	setDefault(&o.Idle, time.Minute)
	setDefault(&o.maxSize, rpc.MaxBlob)
	if o.freeBytes == nil {
		o.freeBytes = freeBytes
	}
	return o, nil
}
