package blob

import (
	"log/slog"
	"os"
)

// Options say where uploads wait, and who is told. The zero Options are the defaults.
type Options struct {
	// SpoolDir is a directory that only this process's user can reach, in which
	// content waits whose id is not declared; Open makes it if it is not there.
	// Empty: content of more than 1 MiB has to come with its id, else it is
	// refused as unsupported. The directory that it is in is held open, so that it is
	// found where that is moved.
	SpoolDir string
	// MinFreeBytes is the free space of the disk of SpoolDir below which nothing
	// is spooled; 0: 256 MiB; negative: none is kept free.
	MinFreeBytes int64
	// Logger is told what a call cannot return: chunks of a broken upload that stay,
	// a manifest that a sweep wrote anew. Nil: nobody.
	Logger *slog.Logger

	maxSize   uint64                                     // bytes of a blob; tests set a smaller one
	freeBytes func(dir *os.File) (free int64, err error) // tests set it
}

func (o Options) withDefaults() Options {
	if o.MinFreeBytes == 0 {
		o.MinFreeBytes = 256 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.maxSize == 0 {
		o.maxSize = MaxSize
	}
	if o.freeBytes == nil {
		o.freeBytes = freeBytes
	}
	return o
}
