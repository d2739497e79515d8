package torture

import "golang.org/x/sys/unix"

// oldCalls are those that newer systems do not have.
func oldCalls() map[uint32]call {
	return map[uint32]call{
		unix.SYS_OPEN: {callOpen, false}, unix.SYS_RENAME: {callRename, false}, unix.SYS_LINK: {callLink, false},
		unix.SYS_UNLINK: {callRemove, false}, unix.SYS_RMDIR: {callRemove, false}, unix.SYS_MKDIR: {callMkdir, false},
	}
}

// removesDir is the call that removes a directory.
const removesDir = unix.SYS_RMDIR
