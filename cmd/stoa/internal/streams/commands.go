// Package streams has the commands on named streams and their durable consumers. Start at
// call.go, by which a command knows its tenant, its stream and its consumer.
package streams

import (
	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// Commands returns the commands of this package.
func Commands(p *cli.Process) []*cobra.Command { return []*cobra.Command{newStream(p)} }

func newStream(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("stream", "Named streams, and durable consumers that acknowledge what they were given",
		"  stoa stream add orders --tenant acme\n  stoa stream publish orders orders.placed '{\"id\":1}' --tenant acme\n  stoa stream consumer add orders billing --filter orders.placed --tenant acme\n  stoa stream fetch orders billing --wait 5s --tenant acme",
		newAdd(p), newAlter(p), newDrop(p), newList(p), newStatus(p), newPublish(p), newRead(p),
		newConsumer(p), newFetch(p), newAck(p), newNak(p), newInProgress(p), newTerminate(p), newDead(p))
	cmd.Long = `Named streams of a tenant, which are the truth of what happened, and durable consumers that read them, as
those of NATS JetStream do. An entry has a subject, words with a dot between them such as orders.placed, a
payload of any bytes, and a number from 1. What a consumer is given is acknowledged within a time, or is given
again; a DELIVERY is NUMBER:TOKEN, as stoa stream fetch prints it. --tenant, else $STOA_TENANT, says whose.`
	return cmd
}

func newConsumer(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("consumer", "Durable consumers of a stream: where each begins, and how far it is",
		"  stoa stream consumer add orders billing --filter orders.placed --tenant acme\n  stoa stream consumer list orders --tenant acme",
		newConsumerAdd(p), newConsumerAlter(p), newConsumerDrop(p), newConsumerList(p), newConsumerStatus(p), newReplay(p))
	cmd.Long = `Durable consumers of a stream. Where one is outlives those who read by it: any number of processes may, and an
entry is with one of them at a time.`
	return cmd
}

func newDead(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("dead", "Dead letters of a consumer: entries that it does not deliver any more",
		"  stoa stream dead list orders billing --tenant acme\n  stoa stream dead retry orders billing 7 --tenant acme",
		newDeadList(p), newDeadRetry(p), newDeadDrop(p))
	cmd.Long = `Entries that were delivered as often as the consumer says and never acknowledged, or were said to be beyond
hope (stoa stream terminate). They stay until they are delivered again, or dropped.`
	return cmd
}
