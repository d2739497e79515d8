package streams

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/rpc"
)

// startFlags say where in a stream a consumer begins.
type startFlags struct {
	now  bool
	from uint64
}

func (f *startFlags) register(fs *pflag.FlagSet) {
	fs.Uint64Var(&f.from, "from", 0, "begin with the entry of this number (default: the first that is kept)")
	fs.BoolVar(&f.now, "now", false, "begin with the next entry that is added")
}

func (f *startFlags) start() (rpc.StreamStart, error) {
	switch {
	case f.now && f.from != 0:
		return rpc.StreamStart{}, cli.Bad(fmt.Errorf("--now and --from: a consumer begins at one place"), "leave out one of them")
	case f.now:
		return rpc.StreamStart{Policy: stream.DeliverNew}, nil
	case f.from != 0:
		return rpc.StreamStart{Policy: stream.DeliverFrom, From: f.from}, nil
	}
	return rpc.StreamStart{}, nil
}

// begins says where a consumer begins.
func begins(s rpc.StreamStart) string {
	switch s.Policy {
	case stream.DeliverNew:
		return "the next that was added"
	case stream.DeliverFrom:
		return "entry " + strconv.FormatUint(s.From, 10)
	}
	return "the first"
}

// configFlags say what a consumer is.
type configFlags struct {
	fs *pflag.FlagSet
	of rpc.StreamConfig
}

func (f *configFlags) register(fs *pflag.FlagSet) {
	f.fs = fs
	fs.StringVar(&f.of.Filter, "filter", "", "the subjects that it is given, such as orders.* or orders.> (default: all)")
	fs.DurationVar(&f.of.AckWait, "ack-wait", stream.PlainAckWait, "how long an acknowledgement is waited for, in whole milliseconds")
	fs.IntVar(&f.of.MaxDeliver, "max-deliver", stream.PlainDeliver, "how often an entry is delivered until it is a dead letter")
	fs.IntVar(&f.of.MaxAckPending, "max-ack-pending", stream.PlainUnacked, "how many entries may be delivered and not acknowledged; 1: strictly one after the other")
}

// apply has a consumer be as the flags say that were given.
func (f *configFlags) apply(to *rpc.StreamConfig) {
	for name, set := range map[string]func(){
		"filter":          func() { to.Filter = f.of.Filter },
		"ack-wait":        func() { to.AckWait = f.of.AckWait },
		"max-deliver":     func() { to.MaxDeliver = f.of.MaxDeliver },
		"max-ack-pending": func() { to.MaxAckPending = f.of.MaxAckPending },
	} {
		if f.fs.Changed(name) {
			set()
		}
	}
}

// consumerDoc is what is known of a consumer, as JSON.
type consumerDoc struct {
	Consumer      string `json:"consumer"`
	Start         string `json:"start"` // all, new or from
	From          uint64 `json:"from,string,omitempty"`
	Filter        string `json:"filter,omitempty"`
	AckWaitMs     int64  `json:"ack_wait_ms"`
	MaxDeliver    int    `json:"max_deliver"`
	MaxAckPending int    `json:"max_ack_pending"`
	Delivered     uint64 `json:"delivered,string"`
	AckFloor      uint64 `json:"ack_floor,string"`
	AckPending    uint64 `json:"ack_pending"`
	Redelivered   uint64 `json:"redelivered"`
	Deliveries    uint64 `json:"deliveries"`
	Dead          uint64 `json:"dead"`
	Pending       uint64 `json:"pending"`
	CreatedAt     string `json:"created_at"`
}

func newConsumerDoc(i *rpc.StreamConsumerInfo) consumerDoc {
	return consumerDoc{
		i.Name, [...]string{"all", "new", "from"}[min(i.Start.Policy, stream.DeliverFrom)], i.Start.From, i.Filter, i.AckWait.Milliseconds(), i.MaxDeliver, i.MaxAckPending,
		i.Delivered, i.AckFloor, i.AckPending, i.Redelivered, i.Deliveries, i.Dead, i.Pending, cli.Instant(i.Created),
	}
}

func newConsumerAdd(p *cli.Process) *cobra.Command {
	var f configFlags
	var at startFlags
	var level cli.Durability
	return ofConsumer(p, "stream consumer", command{
		Name: "add", Short: "Make a consumer, unless there is one of its name that is the same",
		Long: `Make a durable consumer of a stream. One that is there and is the same stays as it is, where it is; where it is
another the exit code is 5.`,
		Example: "orders billing --filter orders.placed --tenant acme\norders audit --now --ack-wait 2m --max-deliver 10 --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			f.register(fs)
			at.register(fs)
			level.Register(fs)
		},
		Run: func(c *call) (err error) {
			o := rpc.StreamConfig{Name: c.name}
			f.apply(&o)
			if o.Start, err = at.start(); err != nil {
				return err
			}
			made, err := c.streams.CreateConsumer(c.Ctx, rpc.Durability(level), c.stream, o)
			return c.done(made, "made", "was there already", "consumer", c.name, err)
		},
	})
}

func newConsumerAlter(p *cli.Process) *cobra.Command {
	var f configFlags
	var level cli.Durability
	return ofConsumer(p, "stream consumer", command{
		Name: "alter", Short: "Have a consumer be another, where it is",
		Long:    `Have a consumer be as the flags say, and else as it is. Where it is, is changed by stoa stream consumer replay.`,
		Example: "orders billing --max-deliver 10 --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			f.register(fs)
			level.Register(fs)
		},
		Run: func(c *call) error {
			i, err := c.consumer.Info(c.Ctx)
			if err != nil {
				return err
			}
			f.apply(&i.Config)
			err = c.streams.UpdateConsumer(c.Ctx, rpc.Durability(level), c.stream, i.Config)
			return c.done(true, "altered", "", "consumer", c.name, err)
		},
	})
}

func newConsumerDrop(p *cli.Process) *cobra.Command {
	var level cli.Durability
	var sure cli.Confirmation
	return ofConsumer(p, "stream consumer", command{
		Name: "drop", Short: "Remove a consumer, where it is, and its dead letters",
		Example: "orders billing --tenant acme\norders billing --tenant acme --yes",
		Flags: func(fs *pflag.FlagSet) {
			level.Register(fs)
			sure.Register(fs)
		},
		Run: func(c *call) error {
			if err := sure.Confirm(c.Ctx, c.Process, func() (string, error) {
				i, err := c.consumer.Info(c.Ctx)
				return fmt.Sprintf("drop consumer %s, which is at entry %d and has %s", strconv.Quote(c.name), i.Delivered, cli.Count(i.Dead, "dead letter")), err
			}); err != nil {
				return err
			}
			existed, err := c.consumer.Delete(c.Ctx, rpc.Durability(level))
			return c.done(existed, "dropped", "was not there", "consumer", c.name, err)
		},
	})
}

func newConsumerList(p *cli.Process) *cobra.Command {
	return ofStream(p, "stream consumer", command{
		Name: "list", Offline: true, Short: "List the consumers of a stream, and how far they are", Example: "orders --tenant acme",
		Run: func(c *call) error {
			all, err := c.streams.ListConsumers(c.Ctx, c.stream)
			if err != nil {
				return err
			}
			list, t := []consumerDoc{}, cli.Table{}
			for i := range all {
				d := newConsumerDoc(&all[i])
				list = append(list, d)
				t.Add(d.Consumer, fmt.Sprintf("at %d", d.Delivered), fmt.Sprintf("%d not acknowledged", d.AckPending), fmt.Sprintf("%d to come", d.Pending), fmt.Sprintf("%d dead", d.Dead))
			}
			return c.Emit(list, func(w io.Writer) { t.Write(w, "") })
		},
	})
}

func newConsumerStatus(p *cli.Process) *cobra.Command {
	return ofConsumer(p, "stream consumer", command{
		Name: "status", Offline: true, Short: "Print what a consumer is, and how far it is", Example: "orders billing --tenant acme",
		Run: func(c *call) error {
			i, err := c.consumer.Info(c.Ctx)
			if err != nil {
				return err
			}
			d := newConsumerDoc(&i)
			return c.Emit(d, func(w io.Writer) {
				var t cli.Table
				number := func(name string, n uint64, means string) { t.Add(name, strconv.FormatUint(n, 10)+means) }
				t.Add("consumer", d.Consumer)
				t.Add("began with", begins(i.Start))
				t.Add("subjects", map[bool]string{true: "all", false: d.Filter}[d.Filter == ""])
				t.Add("ack wait", i.AckWait.String())
				number("max deliver", uint64(d.MaxDeliver), "")
				number("max ack pending", uint64(d.MaxAckPending), "")
				number("delivered", d.Delivered, ", the last entry that it is past")
				number("ack floor", d.AckFloor, ", up to which all is handled")
				number("not acknowledged", d.AckPending, fmt.Sprintf(", %d of them delivered more than once", d.Redelivered))
				number("deliveries", d.Deliveries, "")
				number("dead letters", d.Dead, "")
				number("to come", d.Pending, ", whatever their subjects")
				t.Add("made", d.CreatedAt)
				t.Write(w, "")
			})
		},
	})
}

func newReplay(p *cli.Process) *cobra.Command {
	var at startFlags
	var level cli.Durability
	return ofConsumer(p, "stream consumer", command{
		Name: "replay", Short: "Have a consumer begin again at a place",
		Long: `Have a consumer begin again, with the first entry that is kept unless --from or --now says otherwise, also where
it is TRIMMED. Whoever has something of it has it no longer; dead letters stay.`,
		Example: "orders billing --tenant acme\norders billing --from 7 --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			at.register(fs)
			level.Register(fs)
		},
		Run: func(c *call) error {
			to, err := at.start()
			if err != nil {
				return err
			}
			err = c.consumer.Replay(c.Ctx, rpc.Durability(level), to)
			return c.done(true, "replayed", "", "consumer", c.name, err)
		},
	})
}
