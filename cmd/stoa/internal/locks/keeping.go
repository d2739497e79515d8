package locks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc"
)

// keeping is that a lock is held while something goes on.
type keeping struct {
	c     *call
	grant rpc.LockGrant // the last that a renewal has returned
	ttl   time.Duration // 0: as long as at first
	level rpc.Durability
}

// How often it is tried to renew a lock: each third of the time that it has left, and
// sooner where that has failed, since what comes back does so at any time.
const (
	shortPause = 50 * time.Millisecond
	longPause  = time.Second
)

// during holds the lock while a command runs, whose context ends when the lock is lost, and
// releases it then. It returns how the command has ended, or that the lock was lost meanwhile.
func (k *keeping) during(run func(context.Context) error) error {
	ctx, done := context.WithCancel(context.WithoutCancel(k.c.Ctx)) // a signal is the command's to act on
	running, end := context.WithCancel(ctx)
	defer end()
	lost := make(chan error, 1)
	go func() { lost <- k.keep(ctx) }()
	told := make(chan struct{})
	var why error
	go func() {
		defer close(told)
		if why = <-lost; why != nil {
			k.c.tell(map[string]string{"lost": k.grant.Name, "why": why.Error()}, fmt.Sprintf("stoa: %s is lost (%v): the command gets SIGTERM", k.grant.Name, why))
			end()
		}
	}()
	ended := run(running)
	done()
	<-told
	released := k.release(ctx)
	switch {
	case why != nil: // which was said
		return cli.Fail(exitLost, fmt.Errorf("%s was lost while the command ran", k.grant.Name), hintLost)
	case released != nil:
		return cli.Fail(exitLost, fmt.Errorf("%s was lost while the command ran: %w", k.grant.Name, released), hintLost)
	}
	return ended
}

const hintLost = "somebody else may have held it meanwhile: what was written with --lock is right all the same"

// keep renews the lock until ctx ends, or the lock is lost: then it returns why.
func (k *keeping) keep(ctx context.Context) error {
	var failed error
	for {
		last := !k.grant.Expires.Before(k.grant.Until) // it can't be held for longer
		left := time.Until(k.grant.Expires)
		if left <= 0 {
			if last {
				return fmt.Errorf("it was held for as long as may be, config:lock:max_ttl: since %s", cli.Instant(k.grant.Acquired))
			}
			return fmt.Errorf("its time was over at %s, and it was not renewed: %w", cli.Instant(k.grant.Expires), cmp.Or(failed, errStopped))
		}
		pause := max(left/3, shortPause)
		if failed != nil {
			pause = min(max(left/10, shortPause), longPause)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(pause, left)):
		}
		g, err := k.renew(ctx)
		switch {
		case err == nil:
			k.grant, failed = g, nil
		case errors.Is(err, lock.ErrNotHolder):
			return err
		case ctx.Err() == nil && !errors.Is(err, lock.ErrMaxTTL): // which says that it is held still
			failed = err
		}
	}
}

// errStopped is why a lock was not renewed where no renewal has failed.
var errStopped = errors.New("this process did not run")

// renew asks for more time, as long as there is some left.
func (k *keeping) renew(ctx context.Context) (rpc.LockGrant, error) {
	ctx, cancel := context.WithDeadline(ctx, k.grant.Expires)
	defer cancel()
	return k.c.locks.Renew(ctx, k.holding(), k.ttl, k.level)
}

func (k *keeping) holding() rpc.LockHolding {
	return rpc.LockHolding{Name: k.grant.Name, Agent: k.grant.Agent, Token: k.grant.Token}
}

// release gives the lock back, and returns why it was not held any more, if so. What can't
// be released is free once its time is over.
func (k *keeping) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	held, err := k.c.locks.Release(ctx, k.holding(), k.level)
	switch {
	case err == nil && held:
		return nil
	case err == nil:
		h := k.holding()
		return notHolder(&h)
	case time.Until(k.grant.Expires) <= 0:
		return fmt.Errorf("its time was over at %s: %w", cli.Instant(k.grant.Expires), err)
	}
	k.c.tell(map[string]string{"not_released": k.grant.Name, "why": err.Error(), "expires_at": cli.Instant(k.grant.Expires)},
		fmt.Sprintf("stoa: %s is not released, and free from %s on: %v", k.grant.Name, cli.Instant(k.grant.Expires), err))
	return nil
}
