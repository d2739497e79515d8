package rows

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// seals are what a shared table has: nobody changes its size, and nobody maps it to write to
// who has not done so yet. Linux knows the latter from 5.1 on.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_FUTURE_WRITE | unix.F_SEAL_SEAL

// SharedMemory returns memory that this process writes, and that others may read who are handed its
// file, whose name is for people. Nobody else writes to it or changes its size. It fails where
// the system has no such memory.
func SharedMemory(name string, size int64) (file int, memory []byte, err error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	file, err = unix.MemfdCreate(name, flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		file, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return -1, nil, fmt.Errorf("rows: shared memory: %w", err)
	}
	if memory, err = mapSealed(file, size); err != nil {
		_ = unix.Close(file)
		return -1, nil, fmt.Errorf("rows: %d bytes of shared memory: %w", size, err)
	}
	return file, memory, nil
}

// mapSealed gives a file its size, maps it, and seals it.
func mapSealed(file int, size int64) ([]byte, error) {
	if err := unix.Ftruncate(file, size); err != nil {
		return nil, err
	}
	memory, err := unix.Mmap(file, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(uintptr(file), unix.F_ADD_SEALS, seals); err != nil {
		_ = unix.Munmap(memory)
		return nil, err
	}
	return memory, nil
}

// sealed reports whether a file keeps its size, and is written to by nobody but its maker.
func sealed(file int) bool {
	got, err := unix.FcntlInt(uintptr(file), unix.F_GET_SEALS, 0)
	return err == nil && got&seals == seals
}
