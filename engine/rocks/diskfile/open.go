package diskfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Open opens a file of a directory for reading. It returns ErrDamaged for what is no
// regular file, which nothing of a store is: it follows no link, and does not wait
// for who writes to a pipe.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) { // a link; a socket, or a device that is not there
		st, serr := os.Lstat(path)
		if serr != nil {
			return nil, serr
		}
		return nil, notRegular(path, st.Mode())
	}
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = notRegular(path, st.Mode())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReadSmall returns what a file holds. It returns ErrDamaged for what is no regular
// file, and for one of more than most bytes.
func ReadSmall(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrDamaged, filepath.Base(path), most)
	}
	return b, err
}

func notRegular(path string, mode fs.FileMode) error {
	return fmt.Errorf("%w: %s is %s, and no regular file", ErrDamaged, filepath.Base(path), KindOfFile(mode))
}

// KindOfFile says, for people, what a file is.
func KindOfFile(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a regular file"
	case mode&fs.ModeSymlink != 0:
		return "a link"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
