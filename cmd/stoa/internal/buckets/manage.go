package buckets

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/rpc"
)

// infoDoc is what is known of a bucket, as JSON.
type infoDoc struct {
	Bucket    string          `json:"bucket"`
	Service   string          `json:"service,omitempty"`
	Alias     string          `json:"alias,omitempty"`
	Adopted   bool            `json:"adopted,omitempty"`
	History   int             `json:"history"`
	TTLMs     int64           `json:"ttl_ms"` // 0: for ever
	MaxValue  uint64          `json:"max_value_bytes"`
	Schema    json.RawMessage `json:"schema,omitempty"`
	CreatedAt string          `json:"created_at"`
}

func newInfoDoc(i *rpc.BucketInfo) infoDoc {
	return infoDoc{i.Name, i.Service, i.Alias, i.Adopted, i.History, i.TTL.Milliseconds(), cmp.Or(i.MaxValue, bucket.MaxValue), i.Schema, cli.Instant(i.Created)}
}

// of says whose the bucket is.
func (d *infoDoc) of() string {
	if d.Service == "" {
		return "an operator's"
	}
	return d.Service + "'s " + d.Alias
}

// lasts says how long values last.
func (d *infoDoc) lasts() string { return lasting(d.TTLMs) }

func lasting(ms int64) string {
	if ms == 0 {
		return "for ever"
	}
	return (time.Duration(ms) * time.Millisecond).String()
}

// statusDoc is what a bucket is and has, as JSON.
type statusDoc struct {
	infoDoc
	Revision uint64 `json:"revision,string"`
	Keys     uint64 `json:"keys"`
	Values   uint64 `json:"revisions_kept"`
	Bytes    uint64 `json:"bytes"`
}

func newList(p *cli.Process) *cobra.Command {
	return ofTenant(p, "bucket", command{
		Name: "list", Offline: true, Short: "List the buckets of the tenant", Example: "--tenant acme\n--json --tenant acme",
		Run: func(c *call) error {
			all, err := c.buckets.List(c.Ctx)
			if err != nil {
				return err
			}
			list, t := []infoDoc{}, cli.Table{}
			for i := range all {
				d := newInfoDoc(&all[i])
				list = append(list, d)
				t.Add(d.Bucket, d.of(), "history "+strconv.Itoa(d.History), "lasts "+d.lasts())
			}
			return c.Emit(list, func(w io.Writer) { t.Write(w, "") })
		},
	})
}

func newStatus(p *cli.Process) *cobra.Command {
	return ofBucket(p, command{
		Name: "status", Offline: true, Short: "Print what a bucket is, and what it has", Example: "notes --tenant acme\nactivity --service activity --json --tenant acme",
		Run: func(c *call) error {
			s, err := c.bucket.Status(c.Ctx)
			if err != nil {
				return err
			}
			d := statusDoc{newInfoDoc(&s.Info), s.Revision, s.Keys, s.Values, s.Bytes}
			return c.Emit(d, func(w io.Writer) {
				var t cli.Table
				t.Add("bucket", d.Bucket)
				t.Add("whose", d.of())
				if d.Adopted {
					t.Add("adopted", "it was there before the contract, and outlives it")
				}
				t.Add("history", cli.Count(d.History, "revision")+" of a key")
				t.Add("values last", d.lasts())
				t.Add("longest value", cli.SizeText(d.MaxValue))
				t.Add("schema", map[bool]string{true: "values are any bytes", false: "--json has it"}[d.Schema == nil])
				t.Add("revision", strconv.FormatUint(d.Revision, 10))
				t.Add("keys", strconv.FormatUint(d.Keys, 10)+", deleted ones included")
				t.Add("kept", cli.Count(d.Values, "revision"))
				t.Add("bytes", strconv.FormatUint(d.Bytes, 10)+" of keys and their newest values")
				t.Add("made", d.CreatedAt)
				t.Write(w, "")
			})
		},
	})
}

// configFlags say what a bucket is to be.
type configFlags struct {
	fs      *pflag.FlagSet
	history int
	ttl     time.Duration
	size    cli.Size
	schema  string
}

func (f *configFlags) register(fs *pflag.FlagSet) {
	f.fs = fs
	fs.IntVar(&f.history, "history", 1, fmt.Sprintf("how many revisions of a key are kept, the newest included: 1 to %d", bucket.MaxHistory))
	fs.DurationVar(&f.ttl, "ttl", 0, "how long values last from their last write on, in whole milliseconds; 0: for ever")
	f.size = bucket.MaxValue
	fs.Var(&f.size, "max-value", "how long a value may be")
	fs.StringVar(&f.schema, "schema", "", "the JSON Schema that values hold to; @FILE reads it from a file, none lets them be any bytes")
}

// apply has a bucket be as the flags say that were given.
func (f *configFlags) apply(c *call, to *rpc.BucketConfig) error {
	if f.fs.Changed("history") {
		if f.history < 1 { // 0 would be the default
			return cli.Bad(fmt.Errorf("--history: %d; a bucket keeps 1 to %d revisions of a key", f.history, bucket.MaxHistory), "")
		}
		to.History = f.history
	}
	if f.fs.Changed("ttl") {
		to.TTL = f.ttl
	}
	if f.fs.Changed("max-value") {
		to.MaxValue = uint64(f.size)
	}
	switch {
	case f.schema == "none":
		to.Schema = nil
	case f.fs.Changed("schema"):
		var err error
		if to.Schema, err = c.JSONArgument("--schema", f.schema); err != nil {
			return err
		}
	}
	return nil
}

// emitInfo says what was done to a bucket.
func (c *call) emitInfo(i *rpc.BucketInfo, done string) error {
	d := newInfoDoc(i)
	return c.Emit(d, func(w io.Writer) {
		fmt.Fprintf(w, "%s bucket %s: history %d, values last %s\n", done, d.Bucket, d.History, d.lasts())
	})
}

func newAdd(p *cli.Process) *cobra.Command {
	var f configFlags
	var o rpc.BucketConfig
	return ofTenant(p, "bucket", command{
		Name: "add", Short: "Make a bucket", Args: []string{"BUCKET"},
		Long: `Make a bucket, and the tenant unless it is there. Services have theirs by contracts: of those only a bucket
that is to be there before its contract is made so.`,
		Example: "notes --history 5 --tenant acme\nsessions --ttl 30m --max-value 64KiB --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			f.register(fs)
			fs.StringVar(&o.Service, "of-service", "", "whose bucket it is (default: the operator's)")
			fs.StringVar(&o.Alias, "alias", "", "by which that service knows it")
		},
		Run: func(c *call) error {
			o.Name = c.Args[0]
			if err := f.apply(c, &o); err != nil {
				return err
			}
			i, err := c.buckets.Create(c.Ctx, o)
			if err != nil {
				return err
			}
			return c.emitInfo(&i, "made")
		},
	})
}

func newAlter(p *cli.Process) *cobra.Command {
	var f configFlags
	var sure cli.Confirmation
	return ofTenant(p, "bucket", command{
		Name: "alter", Short: "Have a bucket keep more or less", Args: []string{"BUCKET"},
		Long: `Have a bucket be as the flags say, and else as it is. What it has beyond that goes soon: older revisions that
are too many, values that are too old; where that can be, it asks. Values that are too long, or do not hold to
the schema, stay as they are.`,
		Example: "notes --history 10 --tenant acme\nnotes --ttl 24h --tenant acme --yes",
		Flags: func(fs *pflag.FlagSet) {
			f.register(fs)
			sure.Register(fs)
		},
		Run: func(c *call) error {
			was, err := c.buckets.Bucket(c.Args[0]).Status(c.Ctx)
			if err != nil {
				return err
			}
			o := was.Config
			if err := f.apply(c, &o); err != nil {
				return err
			}
			var lost []string
			if o.History < was.History {
				lost = append(lost, fmt.Sprintf("only the newest %s of a key instead of %d", cli.Count(o.History, "revision"), was.History))
			}
			if o.TTL != 0 && (was.TTL == 0 || o.TTL < was.TTL) {
				lost = append(lost, fmt.Sprintf("values for %s from their last write on instead of %s, and remove those that are older", lasting(o.TTL.Milliseconds()), lasting(was.TTL.Milliseconds())))
			}
			if len(lost) > 0 {
				if err := sure.Confirm(c.Ctx, c.Process, func() (string, error) {
					return fmt.Sprintf("have bucket %s keep %s", strconv.Quote(o.Name), strings.Join(lost, ", and ")), nil
				}); err != nil {
					return err
				}
			}
			i, err := c.buckets.Alter(c.Ctx, o)
			if err != nil {
				return err
			}
			return c.emitInfo(&i, "altered")
		},
	})
}

func newDrop(p *cli.Process) *cobra.Command {
	var sure cli.Confirmation
	return ofTenant(p, "bucket", command{
		Name: "drop", Short: "Remove a bucket with all that it has", Args: []string{"BUCKET"},
		Example: "notes --tenant acme\nnotes --tenant acme --yes", Flags: sure.Register,
		Run: func(c *call) error {
			if err := sure.Confirm(c.Ctx, c.Process, func() (string, error) {
				s, err := c.buckets.Bucket(c.Args[0]).Status(c.Ctx)
				return fmt.Sprintf("drop bucket %s with %s, %s", strconv.Quote(c.Args[0]), cli.Count(s.Keys, "key"), cli.Count(s.Bytes, "byte")), err
			}); err != nil {
				return err
			}
			if err := c.buckets.Drop(c.Ctx, c.Args[0]); err != nil {
				return err
			}
			return c.Emit(map[string]string{"dropped": c.Args[0]}, func(w io.Writer) { fmt.Fprintf(w, "dropped bucket %s\n", strconv.Quote(c.Args[0])) })
		},
	})
}
