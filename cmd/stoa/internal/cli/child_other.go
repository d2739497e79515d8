//go:build !linux

package cli

import "os/exec"

// dieWithParent does nothing where there is no signal at the parent's death: a command whose
// parent was killed runs on, and what it writes with its token is FENCED in time.
func dieWithParent(*exec.Cmd) {}
