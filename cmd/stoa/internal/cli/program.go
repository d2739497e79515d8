package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
)

// Exit codes of commands that run another program, before it runs: those of a shell.
const (
	ExitNoProgram = 127 // there is no such program
	ExitNoExec    = 126 // it is not to be executed
)

// Program returns the path of a program that a command is to run, or a failure with its
// exit code.
func Program(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", Fail(ExitNoProgram, fmt.Errorf("there is no command %q", name), "")
	case err != nil:
		return "", Fail(ExitNoExec, err, "")
	}
	return path, nil
}
