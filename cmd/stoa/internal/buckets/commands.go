// Package buckets has the commands on buckets of key-values, and on the contracts by which
// services have theirs. Start at call.go, by which a command knows its tenant and its bucket.
package buckets

import (
	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// Commands returns the commands of this package.
func Commands(p *cli.Process) []*cobra.Command {
	return []*cobra.Command{newBucket(p), newContract(p)}
}

func newBucket(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("bucket", "Key-values with revisions, history, times to live and watches",
		"  stoa bucket add notes --history 5 --tenant acme\n  stoa bucket put notes github.42.title hello --tenant acme\n  stoa bucket watch notes 'github.>' --tenant acme",
		newAdd(p), newAlter(p), newDrop(p), newList(p), newStatus(p),
		newPut(p), newCreate(p), newUpdate(p), newMerge(p), newDelete(p), newPurge(p), newTouch(p), newPurgeDeletes(p),
		newGet(p), newHistory(p), newKeys(p), newWatch(p))
	cmd.Long = `Buckets of key-values, as NATS KV has them: keys are words with a dot between them, such as
github.42.title, and every change has a revision, which counts bucket-wide. An operator makes a bucket
(stoa bucket add), or a service gets those that its contract declares (stoa contract). BUCKET is a name; with
--service it is the alias that the contract of that service has for it. --tenant, else $STOA_TENANT, says whose.`
	return cmd
}

func newContract(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("contract", "What buckets a service declares that it needs, and what was decided about that",
		"  stoa contract propose activity.json --tenant acme\n  stoa contract plan activity --tenant acme",
		newPropose(p), newPlan(p), newAccept(p), newReject(p), newReconcile(p), newRevoke(p), newShow(p), newContractList(p), newDigest(p))
	cmd.Long = `What buckets a service declares that it needs, as JSON, and what was decided about that: it is proposed,
somebody looks at the plan and accepts it by its digest, and reconciliation makes the buckets. Between the
last two the service has none. --tenant, else $STOA_TENANT, says whose.`
	return cmd
}
