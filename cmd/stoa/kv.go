package main

import (
	"encoding/json"
	"fmt"
	"github.com/stoadb/stoa/rpc"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/kvstorage"
)

func newKV(p *process) *cobra.Command {
	cmd := parent("kv", "Read, change and watch the key-values of tenants",
		"  stoa kv put greeting '\"hello\"' --tenant acme --ttl 1h\n  stoa kv get greeting --tenant acme\n  stoa kv watch --tenant acme --json",
		newKVGet(p), newKVPut(p), newKVDelete(p), newKVList(p), newKVIncrement(p), newKVSwap(p), newKVTouch(p), newKVWatch(p), newKVBatch(p),
		newKVTenants(p), newKVStats(p), newKVCapabilities(p))
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

// itemTime is how the times of items are written.
const itemTime = "2006-01-02T15:04:05.000Z07:00"

func newItemDoc(i *kvstorage.Item) itemDoc {
	d := itemDoc{Key: i.Key, Value: i.Value, Revision: i.Revision}
	if !i.Expires.IsZero() {
		d.ExpiresAt, d.RemainingMS = i.Expires.UTC().Format(itemTime), i.Remaining.Milliseconds()
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

// noKey is the failure of a command that needs something to be there.
func noKey(key string) error {
	return fmt.Errorf("%w: nothing is stored under %s", engine.ErrNotFound, strconv.Quote(key))
}

// kvWriteFlags are those of commands that write.
type kvWriteFlags struct {
	ttl        time.Duration
	durability durability
}

func (f *kvWriteFlags) register(fs *pflag.FlagSet, without string) {
	fs.DurationVar(&f.ttl, "ttl", 0, "how long it is there, in whole seconds (default: "+without+")")
	f.durability.register(fs)
}

func (f *kvWriteFlags) options() ([]rpc.WriteOption, error) {
	with := []rpc.WriteOption{rpc.WithDurability(rpc.Durability(f.durability))}
	switch {
	case f.ttl%time.Second != 0 || f.ttl < 0:
		return nil, bad(fmt.Errorf("--ttl: %s is not a whole number of seconds", f.ttl), "")
	case f.ttl > 0:
		with = append(with, rpc.TTL(f.ttl))
	}
	return with, nil
}

// valueArgument returns the JSON that an argument stands for.
func (p *process) valueArgument(what, arg string, text bool) ([]byte, error) {
	b, err := p.argument(what, arg)
	if err != nil {
		return nil, err
	}
	if text {
		return json.Marshal(string(b))
	}
	if !json.Valid(b) {
		return nil, bad(fmt.Errorf("%s: not JSON", what), "--text stores it as a string")
	}
	return b, nil
}

func newKVStats(p *process) *cobra.Command {
	return daemonCommand{
		about: aboutTenant,
		name:  "stats", offline: true, short: "Count what a tenant has", example: "--tenant acme",
		run: func(c *daemonCall) error {
			s, err := c.kv.Stats(c.ctx)
			if err == nil {
				err = c.expectTenant(int(min(s.Revision, 1)))
			}
			if err != nil {
				return err
			}
			d := newTenantDoc("", s)
			return c.emit(d, d.write)
		},
	}.command(p, "kv")
}

func newKVCapabilities(p *process) *cobra.Command {
	return daemonCommand{
		about: aboutTenant,
		name:  "capabilities", short: "Show what the daemon offers, and its limits",
		run: func(c *daemonCall) error {
			doc, tenant, err := c.client.Capability(c.ctx)
			if err != nil {
				return err
			}
			return c.emit(struct {
				kvstorage.Capability
				Tenant string `json:"tenant,omitempty"`
			}{doc, tenant}, func(w io.Writer) {
				t := table{}
				t.add("supported", strconv.FormatBool(doc.Supported))
				t.add("longest key", count(doc.MaxKeyBytes, "byte"))
				t.add("longest value", count(doc.MaxValueBytes, "byte"))
				t.add("longest time to live", count(int(doc.MaxTTLSeconds), "second"))
				t.add("increment", strconv.FormatBool(doc.AtomicIncrement))
				t.add("compare-and-swap", strconv.FormatBool(doc.CompareAndSwap))
				if tenant != "" {
					t.add("bound to tenant", strconv.Quote(tenant))
				}
				t.write(w, "")
			})
		},
	}.command(p, "kv")
}
