package buckets

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/rpc"
)

// putFlags are those of commands that store a value.
type putFlags struct {
	ttl   time.Duration
	raw   bool
	level cli.Durability
}

func (f *putFlags) register(fs *pflag.FlagSet, without string) {
	fs.DurationVar(&f.ttl, "ttl", 0, "how long the value lasts, in whole milliseconds, at most as long as the bucket's do (default: "+without+")")
	fs.BoolVar(&f.raw, "raw", false, "store it also if it does not hold to the bucket's schema")
	f.level.Register(fs)
}

func (f *putFlags) options() rpc.BucketPutOptions {
	return rpc.BucketPutOptions{TTL: f.ttl, Raw: f.raw, Durability: engine.Durability(f.level)}
}

// changed says what the key of the call is at now, or why it is not.
func (c *call) changed(done string, revision uint64, err error) error {
	if err != nil {
		return err
	}
	key := c.Args[0]
	return c.Emit(struct {
		Key      string `json:"key"`
		Revision uint64 `json:"revision,string"`
	}{key, revision}, func(w io.Writer) { fmt.Fprintf(w, "%s %s at revision %d\n", done, strconv.Quote(key), revision) })
}

// What the help of commands that store a value says of it.
const valueHelp = ` VALUE is any bytes; - reads them from stdin, @FILE from a file.`

// storing returns a command that stores a value by a method of the bucket.
func storing(p *cli.Process, d command, done string, store func(*rpc.Bucket, context.Context, string, []byte, rpc.BucketPutOptions) (uint64, error)) *cobra.Command {
	var f putFlags
	d.Args, d.Long = []string{"KEY", "VALUE"}, d.Long+valueHelp
	d.Flags = func(fs *pflag.FlagSet) { f.register(fs, "as long as those") }
	d.Run = func(c *call) error {
		value, err := c.Argument("VALUE", c.Args[1])
		if err != nil {
			return err
		}
		revision, err := store(c.bucket, c.Ctx, c.Args[0], value, f.options())
		return c.changed(done, revision, err)
	}
	return ofBucket(p, d)
}

func newPut(p *cli.Process) *cobra.Command {
	return storing(p, command{
		Name: "put", Short: "Store the value of a key",
		Long:    `Store the value of a key, whatever it has, and print the revision.`,
		Example: "notes github.42.title hello --tenant acme\nactivity a.1 '{\"who\":\"ann\",\"did\":\"read\"}' --service activity --ttl 30m --tenant acme",
	}, "stored", (*rpc.Bucket).Put)
}

func newCreate(p *cli.Process) *cobra.Command {
	return storing(p, command{
		Name: "create", Short: "Store the value of a key that has none",
		Long: `Store the value of a key that never had one, or was deleted, purged or has expired. Where it has one the
exit code is 5.`,
		Example: "notes github.43.title hello --tenant acme",
	}, "created", (*rpc.Bucket).Create)
}

func newUpdate(p *cli.Process) *cobra.Command {
	var f putFlags
	return ofBucket(p, command{
		Name: "update", Short: "Store the value of a key that is at a revision", Args: []string{"KEY", "VALUE", "REVISION"},
		Long: `Store the value of a key if it is at a revision, also that of a deletion; 0: if nothing is kept of it. Where
it is at another the exit code is 5, and what is printed has that.` + valueHelp,
		Example: "notes github.42.title goodbye 1 --tenant acme",
		Flags:   func(fs *pflag.FlagSet) { f.register(fs, "as before") },
		Run: func(c *call) error {
			at, err := parseRevision("REVISION", c.Args[2])
			if err != nil {
				return err
			}
			value, err := c.Argument("VALUE", c.Args[1])
			if err != nil {
				return err
			}
			revision, err := c.bucket.Update(c.Ctx, c.Args[0], value, at, f.options())
			return c.changed("updated", revision, err)
		},
	})
}

func newMerge(p *cli.Process) *cobra.Command {
	var f putFlags
	var revision cli.Optional
	return ofBucket(p, command{
		Name: "merge", Short: "Change a JSON object in part", Args: []string{"KEY", "PATCH"},
		Long: `Change what a merge patch (RFC 7386) has of a value, both JSON objects: a property that is null is removed,
objects are merged in turn, and all else takes the place of what was there. - reads PATCH from stdin, @FILE
from a file.`,
		Example: "activity a.1 '{\"did\":\"wrote\"}' --service activity --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.Var(&revision, "revision", "only if the key is at this revision")
			f.register(fs, "as before")
		},
		Run: func(c *call) error {
			o := rpc.BucketMergeOptions{PutOptions: f.options(), Expect: revision.Given}
			patch, err := c.JSONArgument("PATCH", c.Args[1])
			if err == nil && o.Expect {
				o.Revision, err = parseRevision("--revision", revision.Text)
			}
			if err != nil {
				return err
			}
			at, err := c.bucket.Merge(c.Ctx, c.Args[0], patch, o)
			return c.changed("merged", at, err)
		},
	})
}

// removeFlags are those of commands that remove a value.
type removeFlags struct {
	revision cli.Optional
	level    cli.Durability
}

func (f *removeFlags) register(fs *pflag.FlagSet) {
	fs.Var(&f.revision, "revision", "only if the key is at this revision")
	f.level.Register(fs)
}

func (f *removeFlags) options() (o rpc.BucketDeleteOptions, err error) {
	o.Expect, o.Durability = f.revision.Given, engine.Durability(f.level)
	if o.Expect {
		o.Revision, err = parseRevision("--revision", f.revision.Text)
	}
	return o, err
}

// removing returns a command that removes a value by a method of the bucket.
func removing(p *cli.Process, d command, done string, remove func(*rpc.Bucket, context.Context, string, rpc.BucketDeleteOptions) (uint64, error)) *cobra.Command {
	var f removeFlags
	d.Args, d.Flags = []string{"KEY"}, f.register
	d.Run = func(c *call) error {
		o, err := f.options()
		if err != nil {
			return err
		}
		revision, err := remove(c.bucket, c.Ctx, c.Args[0], o)
		return c.changed(done, revision, err)
	}
	return ofBucket(p, d)
}

func newDelete(p *cli.Process) *cobra.Command {
	return removing(p, command{
		Name: "delete", Short: "Remove the value of a key, and keep its history",
		Long:    `Remove the value of a key: its history is kept, and ends with a marker, whose revision is printed.`,
		Example: "notes github.42.title --tenant acme\nnotes github.42.title --revision 1 --tenant acme",
	}, "deleted", (*rpc.Bucket).Delete)
}

func newPurge(p *cli.Process) *cobra.Command {
	return removing(p, command{
		Name: "purge", Short: "Remove the value of a key, and its history",
		Long:    `Remove the value of a key and its history: nothing is left but a marker, whose revision is printed.`,
		Example: "notes github.42.title --tenant acme",
	}, "purged", (*rpc.Bucket).Purge)
}

func newTouch(p *cli.Process) *cobra.Command {
	var ttl time.Duration
	var level cli.Durability
	return ofBucket(p, command{
		Name: "touch", Short: "Set how long a value lasts, without a new revision", Args: []string{"KEY"},
		Example: "notes github.42.title --ttl 30m --tenant acme\nnotes github.42.title --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.DurationVar(&ttl, "ttl", 0, "how long from now on, in whole milliseconds (default: as long as the bucket's values do)")
			level.Register(fs)
		},
		Run: func(c *call) error {
			expires, err := c.bucket.Touch(c.Ctx, c.Args[0], ttl, engine.Durability(level))
			if err != nil {
				return err
			}
			return c.Emit(struct {
				Key       string `json:"key"`
				ExpiresAt string `json:"expires_at,omitempty"`
			}{c.Args[0], cli.Instant(expires)}, func(w io.Writer) {
				if expires.IsZero() {
					fmt.Fprintf(w, "%s lasts for ever\n", strconv.Quote(c.Args[0]))
					return
				}
				fmt.Fprintf(w, "%s lasts until %s\n", strconv.Quote(c.Args[0]), cli.Instant(expires))
			})
		},
	})
}

func newPurgeDeletes(p *cli.Process) *cobra.Command {
	var older time.Duration
	var all bool
	var sure cli.Confirmation
	return ofBucket(p, command{
		Name: "purge-deletes", Short: "Remove the history of deleted keys, and their markers once they are old",
		Long: `Remove the history of keys that were deleted, and of keys that were deleted or purged some time ago also the
markers. No watch is told.`,
		Example: "notes --tenant acme --yes\nnotes --all --tenant acme --yes",
		Flags: func(fs *pflag.FlagSet) {
			fs.DurationVar(&older, "older", bucket.MarkersKept, "markers that are older than this")
			fs.BoolVar(&all, "all", false, "all of them")
			sure.Register(fs)
		},
		Run: func(c *call) error {
			if older <= 0 {
				return cli.Bad(fmt.Errorf("--older: %s is no age", older), "--all removes all of them")
			}
			what := "those older than " + older.String()
			if all {
				older, what = -1, "all of them"
			}
			if err := sure.Confirm(c.Ctx, c.Process, func() (string, error) {
				return fmt.Sprintf("remove the history of deleted keys of bucket %s, and of their markers %s", strconv.Quote(c.name), what), nil
			}); err != nil {
				return err
			}
			n, err := c.bucket.PurgeDeletes(c.Ctx, older)
			if err != nil {
				return err
			}
			return c.Emit(map[string]int{"keys": n}, func(w io.Writer) { fmt.Fprintf(w, "nothing is left of %s\n", cli.Count(n, "key")) })
		},
	})
}
