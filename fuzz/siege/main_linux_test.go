package siege

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// What a process that the siege starts is to be: the name of an attack, or one of those.
const (
	roleEnv   = "STOA_SIEGE_ROLE"
	socketEnv = "STOA_SIEGE_SOCKET"

	roleModest = "modest" // who means well
	roleHog    = "hog"    // takes the processor, and leaves the daemon alone
)

// TestMain is every process of a siege: they are this program, as other users.
func TestMain(m *testing.M) {
	role := os.Getenv(roleEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := play(ctx, role); err != nil {
		fmt.Fprintln(os.Stderr, role+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func play(ctx context.Context, role string) error {
	path := os.Getenv(socketEnv)
	if role == roleModest {
		return beModest(ctx, path)
	}
	// What the daemon does counts here, and not whose processes the machine prefers.
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19); err != nil {
		return err
	}
	if role == roleHog {
		for ctx.Err() == nil {
		}
		return nil
	}
	a, ok := attacks[role]
	if !ok {
		return fmt.Errorf("no such attack")
	}
	return (&assailant{path: path}).attack(ctx, a)
}
