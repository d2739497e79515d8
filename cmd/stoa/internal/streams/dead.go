package streams

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/rpc"
)

// deadDoc is a dead letter, as JSON.
type deadDoc struct {
	entryDoc
	Lost       bool   `json:"lost,omitempty"` // the stream did not keep the entry any more
	Reason     string `json:"reason"`
	Deliveries int    `json:"deliveries"`
	DiedAt     string `json:"died_at"`
}

func newDeadDoc(l *rpc.StreamDeadLetter) deadDoc {
	d := deadDoc{newEntryDoc(&l.Entry), l.Lost, l.Reason, l.Deliveries, cli.Instant(l.Died)}
	if l.Lost {
		d.Bytes = nil
	}
	return d
}

func newDeadList(p *cli.Process) *cobra.Command {
	var after uint64
	limit := 0
	return ofConsumer(p, "stream dead", command{
		Name: "list", Offline: true, Short: "List the dead letters of a consumer, in order of their numbers", Example: "orders billing --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.Uint64Var(&after, "after", 0, "behind the entry of this number")
			fs.IntVar(&limit, "limit", 100, "at most so many, up to 1000")
		},
		Run: func(c *call) error {
			all, err := c.consumer.DeadLetters(c.Ctx, after, limit)
			if err != nil {
				return err
			}
			list := []deadDoc{}
			for i := range all {
				list = append(list, newDeadDoc(&all[i]))
			}
			return c.Emit(list, func(w io.Writer) {
				for i := range all {
					text := "no longer kept"
					if !all[i].Lost {
						text = entryText(&all[i].Entry)
					}
					fmt.Fprintf(w, "%d  %s  after %s, at %s: %s\n", all[i].Number, text, deliveries(all[i].Deliveries), list[i].DiedAt, cli.Plain(all[i].Reason))
				}
			})
		},
	})
}

func deliveries(n int) string {
	if n == 1 {
		return "1 delivery"
	}
	return strconv.Itoa(n) + " deliveries"
}

// ofDead returns a command that does something to dead letters, which it names by their numbers.
func ofDead(p *cli.Process, d command, sure *cli.Confirmation, word string,
	do func(*rpc.StreamConsumer, context.Context, rpc.Durability, ...uint64) (int, error),
) *cobra.Command {
	var level cli.Durability
	d.Args = []string{"NUMBER..."}
	d.Flags = func(fs *pflag.FlagSet) {
		level.Register(fs)
		if sure != nil {
			sure.Register(fs)
		}
	}
	d.Run = func(c *call) error {
		list, err := parseNumbers(c.Args)
		if err != nil {
			return err
		}
		if sure != nil {
			if err := sure.Confirm(c.Ctx, c.Process, func() (string, error) {
				return fmt.Sprintf("drop %s of consumer %s", cli.Count(len(list), "dead letter"), strconv.Quote(c.name)), nil
			}); err != nil {
				return err
			}
		}
		n, err := do(c.consumer, c.Ctx, rpc.Durability(level), list...)
		if err != nil {
			return err
		}
		return c.Emit(map[string]int{word: n}, func(w io.Writer) { fmt.Fprintf(w, "%d %s\n", n, word) })
	}
	return ofConsumer(p, "stream dead", d)
}

func newDeadRetry(p *cli.Process) *cobra.Command {
	return ofDead(p, command{
		Name: "retry", Short: "Have dead letters be delivered again, as often as others", Example: "orders billing 7 9 --tenant acme",
	}, nil, "retried", (*rpc.StreamConsumer).RetryDead)
}

func newDeadDrop(p *cli.Process) *cobra.Command {
	return ofDead(p, command{
		Name: "drop", Short: "Remove dead letters for good", Example: "orders billing 7 --tenant acme --yes",
	}, &cli.Confirmation{}, "dropped", (*rpc.StreamConsumer).DropDead)
}
