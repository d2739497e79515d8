package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

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
