package keyvalues

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/rpc"
)

func newTenants(p *cli.Process) *cobra.Command {
	return cli.Parent("tenants", "Make, list and drop tenants, and set their quotas",
		"  stoa kv tenants list\n  stoa kv tenants create acme --max-keys 10000 --max-bytes 64MiB\n  stoa kv tenants drop acme",
		newTenantList(p), newTenantCreate(p), newTenantDrop(p), newTenantQuota(p))
}

// tenantDoc is a tenant with its counters, as JSON.
type tenantDoc struct {
	Tenant   string `json:"tenant,omitempty"`
	Keys     uint64 `json:"keys"`
	Bytes    uint64 `json:"bytes"`
	MaxKeys  uint64 `json:"max_keys"`  // 0: no bound
	MaxBytes uint64 `json:"max_bytes"` // 0: no bound
	Revision uint64 `json:"revision,string"`
	Floor    uint64 `json:"floor,string"`
}

func newTenantDoc(name string, s kv.Stats) tenantDoc {
	return tenantDoc{name, s.Keys, s.Bytes, s.Quota.Keys, s.Quota.Bytes, s.Revision, s.Floor}
}

// write writes the counters, a line for each.
func (d tenantDoc) write(w io.Writer) {
	var t cli.Table
	t.Add("keys", strconv.FormatUint(d.Keys, 10), "of "+bound(d.MaxKeys, strconv.FormatUint(d.MaxKeys, 10)))
	t.Add("bytes", strconv.FormatUint(d.Bytes, 10), "of "+bound(d.MaxBytes, strconv.FormatUint(d.MaxBytes, 10)))
	t.Add("revision", strconv.FormatUint(d.Revision, 10))
	t.Add("log from", strconv.FormatUint(d.Floor+1, 10))
	t.Write(w, "")
}

func bound(n uint64, text string) string {
	if n == 0 {
		return "any number"
	}
	return text
}

func newTenantList(p *cli.Process) *cobra.Command {
	return ofTenants(p, "kv tenants", command{
		Name: "list", Offline: true, Short: "List the tenants with what they hold", Example: "\n--json",
		Run: func(c *call) error {
			return cli.List(c.Process, "tenant", c.Client.Tenants(c.Ctx), func(t rpc.Tenant) (any, error) { return newTenantDoc(t.Name, t.Stats), nil }, func(w io.Writer, t rpc.Tenant) {
				fmt.Fprintf(w, "%s  %s, %s\n", strconv.Quote(t.Name), cli.Count(t.Stats.Keys, "key"), cli.Count(t.Stats.Bytes, "byte"))
			})
		},
	})
}

// quotaFlags say what a tenant may hold.
type quotaFlags struct {
	keys  uint64
	bytes cli.Size
}

func (f *quotaFlags) register(fs *pflag.FlagSet) {
	fs.Uint64Var(&f.keys, "max-keys", 0, "how many keys it may hold (default: any number)")
	fs.Var(&f.bytes, "max-bytes", "how many bytes of keys and values it may hold; 0: any number")
}

func (f *quotaFlags) quota() kv.Quota { return kv.Quota{Keys: f.keys, Bytes: uint64(f.bytes)} }

func newTenantCreate(p *cli.Process) *cobra.Command {
	var f quotaFlags
	return tenantCommand(p, "create", "Make a tenant, or set the quota of one that is there", "acme --max-keys 10000", f.register,
		func(c *call, d *tenantDone) error {
			created, err := c.Client.KV(c.Args[0]).CreateTenant(c.Ctx, f.quota())
			d.Created, d.said = &created, map[bool]string{true: "created", false: "it was there already: changed the quota of"}[created]
			return err
		})
}

func newTenantQuota(p *cli.Process) *cobra.Command {
	var f quotaFlags
	return tenantCommand(p, "quota", "Set what a tenant may hold", "acme --max-keys 10000 --max-bytes 64MiB", f.register,
		func(c *call, d *tenantDone) error {
			d.Changed, d.said = true, "changed"
			return c.Client.KV(c.Args[0]).SetQuota(c.Ctx, f.quota())
		})
}

func newTenantDrop(p *cli.Process) *cobra.Command {
	var sure cli.Confirmation
	return tenantCommand(p, "drop", "Remove a tenant with all that it has", "acme\nacme --yes", sure.Register,
		func(c *call, d *tenantDone) error {
			if err := sure.Confirm(c.Ctx, c.Process, func() (string, error) { return c.describeTenant(c.Args[0]) }); err != nil {
				return err
			}
			had, existed, err := c.Client.KV(c.Args[0]).DropTenant(c.Ctx)
			if err == nil && !existed {
				err = noTenant(c.Args[0])
			}
			d.Dropped, d.Keys, d.Bytes = existed, &had.Keys, &had.Bytes
			d.said, d.with = "dropped", fmt.Sprintf(" with %s, %s", cli.Count(had.Keys, "key"), cli.Count(had.Bytes, "byte"))
			return err
		})
}

// describeTenant says what would be dropped.
func (c *call) describeTenant(name string) (string, error) {
	tenant := c.Client.KV(name)
	there, err := tenant.HasTenant(c.Ctx)
	if err == nil && !there {
		err = noTenant(name)
	}
	if err != nil {
		return "", err
	}
	has, err := tenant.Stats(c.Ctx)
	return fmt.Sprintf("drop tenant %s with %s, %s", strconv.Quote(name), cli.Count(has.Keys, "key"), cli.Count(has.Bytes, "byte")), err
}

// noTenant is the failure of a command about a tenant that there is not.
func noTenant(name string) error {
	return cli.Fail(cli.ExitNotFound, fmt.Errorf("there is no tenant %s", strconv.Quote(name)), "`stoa kv tenants list` lists those that are here")
}

// tenantDone is what was done to a tenant, as JSON.
type tenantDone struct {
	Created *bool   `json:"created,omitempty"` // false: its quota was set
	Changed bool    `json:"changed,omitempty"`
	Dropped bool    `json:"dropped,omitempty"`
	Keys    *uint64 `json:"keys,omitempty"`  // that were dropped
	Bytes   *uint64 `json:"bytes,omitempty"` // of keys and values that were dropped
	Tenant  string  `json:"tenant"`

	said, with string // before and behind the name, for people
}

// tenantCommand returns a command that does one thing to a tenant.
func tenantCommand(p *cli.Process, name, short, example string, flags func(*pflag.FlagSet), run func(*call, *tenantDone) error) *cobra.Command {
	return ofTenants(p, "kv tenants", command{
		Name: name, Short: short, Args: []string{"TENANT"}, Example: example, Flags: flags,
		Run: func(c *call) error {
			if c.Args[0] == "" {
				return cli.Bad(errors.New("TENANT: it is empty"), "")
			}
			d := tenantDone{Tenant: c.Args[0]}
			if err := run(c, &d); err != nil {
				return err
			}
			return c.Emit(d, func(w io.Writer) { fmt.Fprintf(w, "%s %s%s\n", d.said, strconv.Quote(d.Tenant), d.with) })
		},
	})
}
