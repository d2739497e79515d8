package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

// terminal returns both ends of a pseudo-terminal: what is written to the one is
// read from the other.
func terminal(t *testing.T) (screen, program *os.File) {
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = program.Close() })
	return screen, program
}

func TestSecretsAreRevealedOnATerminalThatAsks(t *testing.T) {
	screen, program := terminal(t)
	secret := codec.Secret{0xCA, 0x41}
	var b engine.Batch
	engine.Put(&b, keys.GroupSigningKey{}, codec.GroupSigningKeyValue{PrivateKey: secret})
	store := mem.New()
	require.NoError(t, store.Apply(&b))
	socket := serving(t, store)

	lines := bufio.NewScanner(screen)
	shows := func(want string, args ...string) {
		var errs strings.Builder
		code := run(append(args, "--json", "--socket", socket), strings.NewReader(""), program, &errs, nil)
		require.Zero(t, code, errs.String())
		require.True(t, lines.Scan())
		require.Contains(t, lines.Text(), want)
	}
	zeros := strings.Repeat("0", 64)
	get := []string{"get", "GroupSigningKey", "--group-id", zeros, "--key-id", zeros}
	shows(secret.Reveal(), append(get, "--reveal-secrets")...)
	shows(secret.String(), get...)
	shows(secret.Reveal(), append(get, "--hex", "--reveal-secrets")...)
	shows(secret.Reveal(), "scan", "GroupSigningKey", "--reveal-secrets")
	shows(secret.String(), "scan", "GroupSigningKey")
}

func TestTheContentOfABlobIsKeptOffATerminal(t *testing.T) {
	_, program := terminal(t)
	var errs strings.Builder
	code := run([]string{"blob", "get", strings.Repeat("0", 64)}, strings.NewReader(""), program, &errs, nil)
	require.Equal(t, cli.ExitBad, code)
	require.Contains(t, errs.String(), "-o FILE writes it to a file")
}

// typing is what somebody sees of a program on a terminal.
type typing struct {
	t      *testing.T
	screen *os.File
	mu     sync.Mutex
	shown  strings.Builder
}

func onScreen(t *testing.T, screen *os.File) *typing {
	s := &typing{t: t, screen: screen}
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := screen.Read(b)
			s.mu.Lock()
			s.shown.Write(b[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

// types waits until something is shown, and types then.
func (s *typing) types(until, keys string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, behind, found := strings.Cut(s.shown.String(), until)
		if found {
			s.shown.Reset()
			s.shown.WriteString(behind)
		}
		return found
	}, time.Minute, time.Millisecond, "waits for %q", until)
	_, err := s.screen.WriteString(keys)
	require.NoError(s.t, err)
}

func TestAShellOnATerminal(t *testing.T) {
	screen, program := terminal(t)
	socket, state := servingRoom(t), t.TempDir()
	ended := make(chan int)
	shell := func() {
		go func() {
			ended <- run([]string{"shell", "--socket", socket}, program, program, program, []string{"XDG_STATE_HOME=" + state})
		}()
	}
	s := onScreen(t, screen)
	shell()
	s.types("stoa> ", "namesp\t")
	s.types("namespace ", "list\r")
	s.types("  home", "")
	s.types("stoa> ", "namespace tree h\t")
	s.types("home ", "\r")
	s.types("home", "")
	s.types("stoa> ", " status\r") // is not kept
	s.types("engine", "")
	s.types("stoa> ", "nonsense\r")
	s.types("nonsense", "")
	s.types("stoa> ", "\x04")
	require.Equal(t, cli.ExitOK, <-ended)

	shell()
	s.types("stoa> ", "\x1b[A") // up
	s.types("nonsense", "\x1b[A\r")
	s.types("namespace tree home", "")
	s.types("stoa> ", "exit\r")
	require.Equal(t, cli.ExitOK, <-ended)
}
