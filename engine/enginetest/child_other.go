//go:build !linux

package enginetest

import "os/exec"

// EndWithParent leaves cmd as it is: only Linux ends a process with its parent.
func EndWithParent(cmd *exec.Cmd) *exec.Cmd { return cmd }

// EndThisWithParent does nothing: only Linux ends a process with its parent.
func EndThisWithParent() {}
