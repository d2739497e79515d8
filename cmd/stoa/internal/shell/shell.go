// Package shell is stoa shell: commands of stoa, one a line, with a history and completion.
// Start at shell.go; what a line's words are is in split.go, and what may come next in complete.go.
package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// Run runs a command of stoa, as main does, and returns its exit code.
type Run func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int

const long = `Read commands of stoa, one a line, without "stoa" before them, until exit, quit or the end of the
input. On a terminal Tab completes commands, flags, names and the first digits of ids; up and down go
through the lines that were typed, in this shell and before (in $XDG_STATE_HOME/stoa/history, of the
user alone; a line that begins with a space is not kept). Ctrl-C ends the command that runs. Words are
separated by spaces; quotes and \ keep them in a word, and # begins a comment. Elsewhere than on a
terminal the first command that fails ends it, with its exit code.

--dir and --socket say which daemon all commands talk to that do not say it themselves.`

// Command returns the command.
func Command(p *cli.Process, run Run) *cobra.Command {
	var dir, socket string
	cmd := &cobra.Command{
		Use:     "shell",
		Short:   "Type commands one after the other, with completion and a history",
		Long:    long,
		Example: "  stoa shell\n  stoa shell --dir b\n  echo status | stoa shell",
		Args:    cli.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			s := &shell{p: p, run: run, env: slices.Clone(p.Env)}
			if dir != "" {
				s.env = append([]string{"STOA_DIR=" + dir, "STOA_SOCKET="}, s.env...)
			}
			if socket != "" {
				s.env = append([]string{"STOA_SOCKET=" + socket}, s.env...)
			}
			if p.JSON {
				s.flags = append(s.flags, "--json")
			}
			in, isFile := p.Stdin.(*os.File)
			if isFile && cli.IsTerminal(p.Stdin) && cli.IsTerminal(p.Stdout) {
				return s.typed(in)
			}
			return s.read()
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the daemon's directory (default $STOA_DIR, or ./stoa-data)")
	cmd.Flags().StringVar(&socket, "socket", "", "the daemon's socket (default $STOA_SOCKET, or stoa.sock in the directory)")
	return cmd
}

type shell struct {
	p     *cli.Process
	run   Run
	env   []string
	flags []string // that all commands get
}

// errEnd ends a shell.
var errEnd = errors.New("shell: the end")

// line runs a line, and returns the exit code of its command. It returns errEnd if that was exit.
func (s *shell) line(ctx context.Context, line string, stdin io.Reader) (int, error) {
	args, err := split(line)
	switch {
	case err != nil:
		cli.Explain(cli.Bad(err, "")).Print(s.p)
		return cli.ExitBad, nil
	case len(args) == 0:
		return cli.ExitOK, nil
	case len(args) == 1 && (args[0] == "exit" || args[0] == "quit"):
		return cli.ExitOK, errEnd
	case args[0] == "stoa":
		args = args[1:] // what was pasted
	}
	if len(args) > 0 && args[0] == "shell" {
		cli.Explain(cli.Bad(errors.New("this is a shell already"), "exit ends it")).Print(s.p)
		return cli.ExitBad, nil
	}
	return s.run(ctx, append(args, s.flags...), stdin, s.p.Stdout, s.p.Stderr, s.env), nil
}

// read runs the lines of what is no terminal, until one fails.
func (s *shell) read() error {
	lines := bufio.NewScanner(s.p.Stdin)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		code, err := s.line(s.p.Ctx, lines.Text(), strings.NewReader(""))
		if errors.Is(err, errEnd) {
			return nil
		}
		if code != cli.ExitOK {
			return cli.Fail(code, fmt.Errorf("line %d: that command failed, and those behind it were not begun", n), "")
		}
	}
	if err := lines.Err(); err != nil {
		return cli.Bad(fmt.Errorf("a line of the input: %w", err), "a line has at most 1 MiB")
	}
	return nil
}

// maxLine is the longest line, in bytes.
const maxLine = 1 << 20

// typed runs the lines that somebody types.
func (s *shell) typed(in *os.File) error {
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, s.p.Stdout}, "stoa> ")
	h := openHistory(s.p)
	defer h.close()
	t.History = h
	t.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		return s.complete(t, line, pos)
	}
	fmt.Fprintln(s.p.Stderr, "Tab completes, help lists the commands, exit ends.")
	for {
		line, err := readLine(t, in)
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(s.p.Stderr)
			return nil
		}
		if err != nil {
			return fmt.Errorf("shell: %w", err)
		}
		ctx, forget := signal.NotifyContext(s.p.Ctx, syscall.SIGINT)
		_, err = s.line(ctx, line, in)
		forget()
		if errors.Is(err, errEnd) {
			return nil
		}
	}
}

// readLine reads a line while the terminal gives all keys to the shell, which it does not while
// commands run.
func readLine(t *term.Terminal, in *os.File) (string, error) {
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return "", err
	}
	defer func() { _ = term.Restore(int(in.Fd()), state) }()
	if width, height, err := term.GetSize(int(in.Fd())); err == nil && width > 0 && height > 0 { // some terminals do not know
		_ = t.SetSize(width, height)
	}
	line, err := t.ReadLine()
	if errors.Is(err, term.ErrPasteIndicator) {
		err = nil
	}
	return line, err
}
