// Package jobs has the commands on the jobs of a tenant: what makes and shows them, what
// workers do by hand, and a worker that runs a command for each. Start at call.go, by which
// a command knows its tenant.
package jobs

import (
	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// Commands returns the commands of this package.
func Commands(p *cli.Process) []*cobra.Command {
	cmd := cli.Parent("job", "Have workers do jobs: at once or at a time, one worker each, again if it fails",
		"  stoa job enqueue archive '{\"of\":\"2026\"}' --tenant acme\n  stoa job work archive --drain --tenant acme -- sh -c 'cat; echo'",
		newSchedule(p), newEnqueue(p), newCancel(p), newRetry(p), newWork(p), newLease(p), newExtend(p), newComplete(p), newFail(p),
		newList(p), newShow(p), newLookup(p))
	cmd.Long = `Have workers do jobs, which wait in queues: lock_cleanup, approval_timeout, task_timeout, deadlock_detect
and archive. A worker has a job for a time, its lease, by a token; what is not done by then goes to the next.
The daemon has workers of its own: ` + "`stoa serve --job-workers-off QUEUE`" + ` leaves a queue to others.
--tenant, else $STOA_TENANT, says whose.`
	return []*cobra.Command{cmd}
}
