package streams

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/rpc"
)

// command describes a command of this package.
type command = cli.Command[*call]

// call is one run of such a command.
type call struct {
	*cli.Call
	streams  *rpc.Streams // of the tenant
	stream   string       // where the command is about one
	consumer *rpc.StreamConsumer
	name     string // of the consumer
}

// ofTenant returns a command about the streams of a tenant, which --tenant names.
func ofTenant(p *cli.Process, under string, d command) *cobra.Command {
	return d.OfTenant(p, under, func(c *cli.Call, tenant string) *call {
		return &call{Call: c, streams: c.Client.Streams(tenant)}
	})
}

// ofStream returns a command about a stream, which its first argument names. The arguments of
// the call are those behind it.
func ofStream(p *cli.Process, under string, d command) *cobra.Command {
	run := d.Run
	d.Args = append([]string{"STREAM"}, d.Args...)
	d.Run = func(c *call) error {
		c.stream, c.Args = c.Args[0], c.Args[1:]
		return run(c)
	}
	return ofTenant(p, under, d)
}

// ofConsumer returns a command about a consumer of a stream, which its first two arguments name.
func ofConsumer(p *cli.Process, under string, d command) *cobra.Command {
	run := d.Run
	d.Args = append([]string{"CONSUMER"}, d.Args...)
	d.Run = func(c *call) error {
		c.name, c.Args = c.Args[0], c.Args[1:]
		c.consumer = c.streams.Consumer(c.stream, c.name)
		return run(c)
	}
	return ofStream(p, under, d)
}

// parseNumbers reads arguments that are numbers of entries.
func parseNumbers(args []string) (list []uint64, err error) {
	for _, text := range args {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, cli.Bad(fmt.Errorf("NUMBER: %q is no number of an entry, which is a whole number", text), "`stoa stream dead list` prints them")
		}
		list = append(list, n)
	}
	return list, nil
}

// parseDeliveries reads arguments that are deliveries.
func parseDeliveries(args []string) (list []rpc.StreamRef, err error) {
	for _, text := range args {
		number, token, _ := strings.Cut(text, ":")
		n, err := strconv.ParseUint(number, 10, 64)
		t, tokenErr := strconv.ParseUint(token, 10, 64)
		if err != nil || tokenErr != nil {
			return nil, cli.Bad(fmt.Errorf("DELIVERY: %q is no delivery, which is the number of the entry, a colon, and a token", text), "`stoa stream fetch` prints them")
		}
		list = append(list, rpc.StreamRef{Number: n, Token: t})
	}
	return list, nil
}
