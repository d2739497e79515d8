package rpc_test

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/stoadb/stoa/rpc"
)

// One of several processes leads, and another one when it has gone. Each has its own connection,
// waits in the queue of one lock, and renews what it holds; the lease ends where nobody does.
// What a leader does elsewhere it does with the token of its grant, which is greater than that of
// all leaders before: who sees a smaller one after it refuses it.
func Example_leaderElection() {
	socket, ctx := daemon(), context.Background()

	lead := func(me string, led func(rpc.LockGrant)) error {
		c, err := rpc.Dial(ctx, socket)
		if err != nil {
			return err
		}
		defer c.Close()
		locks := c.Locks("acme")
		g, err := locks.Acquire(ctx, rpc.LockRequest{
			Name: "resource:service:mailer", Agent: me, TTL: 30 * time.Second, Wait: true, MaxWait: time.Minute,
		})
		if err != nil {
			return err
		}
		led(g)
		// Every third of the lease, as long as it leads; an error: it does not lead any more.
		held := rpc.LockHolding{Name: g.Name, Agent: me, Token: g.Token}
		if g, err = locks.Renew(ctx, held, 30*time.Second, rpc.Synced); err != nil {
			return err
		}
		_, err = locks.Release(ctx, held, rpc.Synced) // or the lease ends, and the next one leads
		return err
	}

	// Who comes first leads first; the second begins once the first has its grant.
	var others sync.WaitGroup
	if err := lead("one", func(first rpc.LockGrant) {
		fmt.Println("one leads, and has renewed", first.Heartbeats, "times")
		others.Go(func() {
			if err := lead("two", func(second rpc.LockGrant) {
				fmt.Println("two leads with a greater token:", second.Token > first.Token)
			}); err != nil {
				log.Fatal(err)
			}
		})
	}); err != nil {
		log.Fatal(err)
	}
	others.Wait()
	// Output:
	// one leads, and has renewed 0 times
	// two leads with a greater token: true
}
