package keyvalues

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc"
)

func newKV(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("kv", "Read, change and watch the key-values of tenants",
		"  stoa kv put greeting '\"hello\"' --tenant acme --ttl 1h\n  stoa kv get greeting --tenant acme\n  stoa kv watch --tenant acme --json",
		newGet(p), newPut(p), newDelete(p), newList(p), newIncrement(p), newSwap(p), newTouch(p), newWatch(p), newBatch(p),
		newTenants(p), newStats(p), newCapabilities(p))
	cmd.Long = `Read, change and watch the key-values of tenants: JSON values under keys, with times to
live, increment and compare-and-swap (host.kvStorage of RFC 0015). --tenant, else
$STOA_TENANT, says whose; a user whom the daemon binds to a tenant needs neither.`
	return cmd
}

// itemDoc is what a key has, as JSON.
type itemDoc struct {
	Key         string          `json:"key"`
	Value       json.RawMessage `json:"value,omitempty"`
	Revision    uint64          `json:"revision,string"`
	ExpiresAt   string          `json:"expires_at,omitempty"`
	RemainingMS int64           `json:"ttl_remaining_ms,omitempty"`
}

func newItemDoc(i *kvstorage.Item) itemDoc {
	d := itemDoc{Key: i.Key, Value: i.Value, Revision: i.Revision}
	if !i.Expires.IsZero() {
		d.ExpiresAt, d.RemainingMS = cli.Instant(i.Expires), i.Remaining.Milliseconds()
	}
	return d
}

// write says what was done to a key.
func (d itemDoc) write(w io.Writer, done string) {
	fmt.Fprintf(w, "%s %s at revision %d", done, strconv.Quote(d.Key), d.Revision)
	if d.ExpiresAt != "" {
		fmt.Fprintf(w, ", until %s", d.ExpiresAt)
	}
	fmt.Fprintln(w)
}

// writeFlags are those of commands that write.
type writeFlags struct {
	ttl        time.Duration
	durability cli.Durability
	guards     cli.Guards
}

func (f *writeFlags) register(fs *pflag.FlagSet, without string) {
	fs.DurationVar(&f.ttl, "ttl", 0, "how long it is there, in whole seconds (default: "+without+")")
	f.durability.Register(fs)
	f.guards.Register(fs)
}

func (f *writeFlags) options() ([]rpc.WriteOption, error) {
	with := append(f.guards.OfWrites(), rpc.WithDurability(rpc.Durability(f.durability)))
	switch {
	case f.ttl%time.Second != 0 || f.ttl < 0:
		return nil, cli.Bad(fmt.Errorf("--ttl: %s is not a whole number of seconds", f.ttl), "")
	case f.ttl > 0:
		with = append(with, rpc.TTL(f.ttl))
	}
	return with, nil
}

// valueArgument returns the JSON that an argument stands for.
func valueArgument(p *cli.Process, what, arg string, text bool) ([]byte, error) {
	b, err := p.Argument(what, arg)
	if err != nil {
		return nil, err
	}
	if text {
		return json.Marshal(string(b))
	}
	if !json.Valid(b) {
		return nil, cli.Bad(fmt.Errorf("%s: not JSON", what), "--text stores it as a string")
	}
	return b, nil
}

func newStats(p *cli.Process) *cobra.Command {
	return ofTenant(p, "kv", command{
		Name: "stats", Offline: true, Short: "Count what a tenant has", Example: "--tenant acme",
		Run: func(c *call) error {
			s, err := c.kv.Stats(c.Ctx)
			if err == nil {
				err = c.expectTenant(int(min(s.Revision, 1)))
			}
			if err != nil {
				return err
			}
			d := newTenantDoc("", s)
			return c.Emit(d, d.write)
		},
	})
}

func newCapabilities(p *cli.Process) *cobra.Command {
	return ofTenant(p, "kv", command{
		Name: "capabilities", Short: "Show what the daemon offers, and its limits",
		Run: func(c *call) error {
			doc, tenant, err := c.Client.Capability(c.Ctx)
			if err != nil {
				return err
			}
			return c.Emit(struct {
				kvstorage.Capability
				Tenant string `json:"tenant,omitempty"`
			}{doc, tenant}, func(w io.Writer) {
				t := cli.Table{}
				t.Add("supported", strconv.FormatBool(doc.Supported))
				t.Add("longest key", cli.Count(doc.MaxKeyBytes, "byte"))
				t.Add("longest value", cli.Count(doc.MaxValueBytes, "byte"))
				t.Add("longest time to live", cli.Count(int(doc.MaxTTLSeconds), "second"))
				t.Add("increment", strconv.FormatBool(doc.AtomicIncrement))
				t.Add("compare-and-swap", strconv.FormatBool(doc.CompareAndSwap))
				if tenant != "" {
					t.Add("bound to tenant", strconv.Quote(tenant))
				}
				t.Write(w, "")
			})
		},
	})
}
