package torture

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// action is what a call does to files.
type action uint8

const (
	callOpen     action = 1 + iota // path, flags, mode
	callWrite                      // file, bytes
	callWriteAt                    // file, bytes, offset
	callTruncate                   // file, size
	callSync                       // file
	callRename                     // path, path
	callLink                       // path, path
	callRemove                     // path
	callMkdir                      // path, mode
	callOther                      // what the model does not know
	callNone                       // what the kernel is to say that it has not: the daemon then writes
)

func (a action) String() string {
	return [...]string{"", "open", "write", "write at", "truncate", "sync", "rename", "link", "remove", "mkdir", "other"}[a]
}

// call says where a system call has its arguments. Where at is set, a directory that
// is open precedes each path.
type call struct {
	does action
	at   bool
}

// calls returns the calls that are answered, by number.
func calls() map[uint32]call {
	m := map[uint32]call{
		unix.SYS_OPENAT: {callOpen, true}, unix.SYS_WRITE: {callWrite, false}, unix.SYS_PWRITE64: {callWriteAt, false},
		unix.SYS_FTRUNCATE: {callTruncate, false}, unix.SYS_FSYNC: {callSync, false}, unix.SYS_FDATASYNC: {callSync, false},
		unix.SYS_RENAMEAT2: {callRename, true}, unix.SYS_RENAMEAT: {callRename, true}, unix.SYS_LINKAT: {callLink, true},
		unix.SYS_UNLINKAT: {callRemove, true}, unix.SYS_MKDIRAT: {callMkdir, true},
		unix.SYS_COPY_FILE_RANGE: {callNone, false},
		unix.SYS_WRITEV:          {callOther, false}, unix.SYS_PWRITEV: {callOther, false}, unix.SYS_PWRITEV2: {callOther, false},
	}
	maps.Copy(m, oldCalls())
	return m
}

// changing are the flags of an open that changes a directory or a file.
const changing = unix.O_CREAT | unix.O_TRUNC

// callFilter is the program that the kernel asks of each call: one that calls has
// waits for its answer, unless it opens a file and changes nothing.
func callFilter() (p []unix.SockFilter) {
	const number, arguments = 0, 16 // where they stand in what the program is given
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	end := func(what uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what} }
	p = append(p, load(number))
	all := calls()
	for _, nr := range slices.Sorted(maps.Keys(all)) {
		then := []unix.SockFilter{end(unix.SECCOMP_RET_USER_NOTIF)}
		if all[nr].does == callOpen {
			flags := uint32(1)
			if all[nr].at {
				flags = 2
			}
			then = []unix.SockFilter{
				load(arguments + 8*flags), // the lower half; numbers are little-endian where this runs
				{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: 1, K: changing},
				end(unix.SECCOMP_RET_USER_NOTIF),
				end(unix.SECCOMP_RET_ALLOW),
			}
		}
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: uint8(len(then)), K: nr})
		p = append(p, then...)
	}
	return append(p, end(unix.SECCOMP_RET_ALLOW))
}
