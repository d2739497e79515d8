// Package locks has the commands on locks with fencing tokens: who holds what, who waits
// for it, and a command that runs while its lock is held. Start at call.go, by which a
// command knows its tenant, and for `stoa lock run` at run.go.
package locks

import (
	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// Commands returns the commands of this package.
func Commands(p *cli.Process) []*cobra.Command { return []*cobra.Command{newLock(p)} }

func newLock(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("lock", "Lock what agents share, with fencing tokens, queues and deadlocks refused",
		"  stoa lock run deploy --tenant acme -- sleep 1\n  stoa lock acquire deploy --tenant acme\n  stoa lock list --tenant acme",
		newAcquire(p), newRenew(p), newRelease(p), newReleaseAll(p), newDowngrade(p), newRun(p),
		newShow(p), newList(p), newQueue(p), newWatch(p), newLookup(p), newAgent(p))
	cmd.Long = `Lock what agents share. NAME is task:ID, of which there is one holder, or resource:TYPE:ID, which
several may share; a word without a colon is a task: deploy is task:deploy. Who gets a lock gets
a token, greater than all before: a write with --lock NAME=TOKEN is made only while that grant
holds, and is FENCED otherwise. A lock is held until its time to live is over, unless it is renewed
or released; ` + "`stoa lock run`" + ` does that around a command. --tenant, else $STOA_TENANT, says whose.`
	return cmd
}
