package inspection

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// verifyApart verifies a directory in a process of its own. Where RocksDB ends
// that process, as its assertions do, that is a finding.
func verifyApart(p *cli.Process, cmd *cobra.Command, f *verifyFlags, dir string) error {
	args := []string{"verify", "--in-process", "--json"}
	if f.full {
		args = append(args, "--full")
	}
	if f.building {
		args = append(args, "--building")
	}
	args = append(args, f.sealed.Args()...)
	child := self(p, cmd, append(args, "--", dir)...)
	var said tail
	child.Stderr = &said
	stdout, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		return fmt.Errorf("start a process to verify in: %w", err)
	}
	out := newVerdicts(p, dir)
	whole, err := out.readVerdicts(stdout, func(total uint64) *rowBar { return rows(p, "verify", total) })
	if err != nil {
		_ = child.Process.Kill() // it may have ended
	}
	ended := child.Wait()
	switch {
	case err != nil:
		return errors.Join(err, out.w.Flush())
	case whole:
		return errors.Join(out.w.Flush(), out.result())
	}
	if failed := said.failure(); failed != nil {
		return failed
	}
	reason := fmt.Sprintf("the process that read the directory ended (%v): %s", ended, said.line())
	return errors.Join(out.closed(inspect.Finding{Code: "abort", Reason: reason}, f.full), out.w.Flush(), out.result())
}

// self returns a command that runs this program again.
func self(p *cli.Process, cmd *cobra.Command, args ...string) *exec.Cmd {
	child := exec.CommandContext(cmd.Context(), "/proc/self/exe", args...)
	if _, err := os.Stat(child.Path); err != nil {
		if path, err := os.Executable(); err == nil {
			child.Path = path
		}
	}
	child.Args[0] = os.Args[0]
	child.Env = p.Env
	return child
}

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

// maxTail is how much of it.
const maxTail = 16 << 10

// Write keeps the last maxTail bytes of all that is written. It never fails.
func (t *tail) Write(b []byte) (int, error) {
	if t.b = append(t.b, b...); len(t.b) > maxTail {
		t.b = append(t.b[:0], t.b[len(t.b)-maxTail:]...)
	}
	return len(b), nil
}

// failure returns the error that a process of this program has ended with; nil if
// it did not say.
func (t *tail) failure() error {
	lines := bytes.Split(bytes.TrimSpace(t.b), []byte("\n"))
	var f struct {
		Error string `json:"error"`
		Exit  int    `json:"exit"`
		Hint  string `json:"hint"`
	}
	if json.Unmarshal(lines[len(lines)-1], &f) != nil || f.Error == "" {
		return nil
	}
	return cli.Fail(f.Exit, errors.New(f.Error), f.Hint)
}

// line returns the first line, which is what an assertion says.
func (t *tail) line() string {
	first, _, _ := strings.Cut(strings.TrimSpace(string(t.b)), "\n")
	if first == "" {
		return "it said nothing"
	}
	return cli.Shorten(first, 300)
}
