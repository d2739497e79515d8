package governance

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/naming"
)

func newGroupKeys(p *cli.Process) *cobra.Command {
	return onNamedGroup(p, "group", command{
		Name: "keys", Offline: true, Args: []string{"GROUP"}, Short: "List the keys of a group: ids and holders", Example: "home",
		Long: "List the keys of a group as they were introduced: ids and holders, never the keys.",
		Run: func(c *call) error {
			all, err := c.groups.Keys(c.Ctx, c.group)
			if err != nil {
				return err
			}
			current := len(all) == 0
			for _, k := range all {
				current = current || k.Current
				d := struct {
					ID      string   `json:"key_id"`
					Current bool     `json:"current"`
					Here    bool     `json:"here"`
					Holders []string `json:"holders"`
					Op      string   `json:"op_id"`
					Height  int      `json:"height"`

					Abandoned bool     `json:"abandoned,omitempty"`
					Fault     string   `json:"fault,omitempty"`
					Lacking   []string `json:"lacking,omitempty"`
					Cheated   []string `json:"cheated,omitempty"`
				}{k.ID.String(), k.Current, k.Here, cli.Texts(k.Holders), k.Op.String(), k.Height, k.Abandoned, k.Fault, cli.Texts(k.Lacking), cli.Texts(k.Cheated)}
				if err := c.Emit(d, func(w io.Writer) { c.writeKey(w, &k) }); err != nil {
					return err
				}
			}
			if !current {
				c.Guide("none is current: a member gives the group a new one with the next change, or with stoa group rotate " + c.known.Called(c.group.String()))
			}
			return nil
		},
	})
}

// writeKey writes a line about a key, and one for each thing that is wrong with it.
func (c *call) writeKey(w io.Writer, k *namespace.KeyInfo) {
	called := func(ids []codec.Identity) string {
		var names []string
		for _, id := range ids {
			names = append(names, c.known.Of(id.String()))
		}
		return strings.Join(names, " ")
	}
	state := "old"
	switch {
	case k.Current:
		state = "current"
	case k.Fault != "":
		state = "not good"
	case k.Abandoned:
		state = "left behind"
	case !k.Here:
		state = "not here"
	}
	fmt.Fprintf(w, "%s  %-8s  %s\n", k.ID, state, called(k.Holders))
	if k.Fault != "" {
		fmt.Fprintf(w, "  %s: what is sealed under it has no effect\n", k.Fault)
	}
	if len(k.Cheated) > 0 {
		fmt.Fprintf(w, "  can't open it: %s\n", called(k.Cheated))
	}
	if len(k.Lacking) > 0 {
		fmt.Fprintf(w, "  was not sent it: %s\n", called(k.Lacking))
	}
}

func newGroupRotate(p *cli.Process) *cobra.Command {
	var now bool
	return onGroup(p, "group", command{
		Name: "rotate", Args: []string{"GROUP"}, Short: "Give a group the key that is due", Example: "home\nhome --now",
		Long: `Give a group a new key, where it has none that only members hold, and send the current one
to members who lack it. It exits 5 where neither is due. With --now it makes one in any
case: by an Admin, where somebody may have the current one who should not, as with a
laptop that was stolen. Whose laptop it was is to be removed as well, or gets the new key
too. ` + cli.ConceptsHint + `.`,
		Flags: func(fs *pflag.FlagSet) { fs.BoolVar(&now, "now", false, "make a new key, whether or not one is due") },
		Run: func(c *call) error {
			done, err := c.groups.Rotate(c.Ctx, c.group, now)
			if err != nil {
				return err
			}
			return c.proposed(done, codec.GroupID{})
		},
	})
}

func newGroupSigningKeys(p *cli.Process) *cobra.Command {
	var fresh bool
	var seedFile, drop string
	var sure cli.Confirmation
	return onGroup(p, "group", command{
		Name: "signing-keys", Offline: true, Args: []string{"GROUP"}, Short: "List, add or drop the signing keys that this daemon holds for a group",
		Long: `List the Ed25519 keys that this daemon holds for a group: the public halves. --new makes
one, --seed-file takes the seed in a file, 64 hex digits, and --drop, which asks first,
forgets one.`,
		Example: "home\nhome --new",
		Flags: func(fs *pflag.FlagSet) {
			sure.Register(fs)
			fs.BoolVar(&fresh, "new", false, "make one")
			fs.StringVar(&seedFile, "seed-file", "", "take the seed in this file")
			fs.StringVar(&drop, "drop", "", "forget the key with this public half")
		},
		Run: func(c *call) error {
			show := func(id codec.Identity, what string) error {
				return c.Emit(map[string]string{"public_key": id.String(), "state": what}, func(w io.Writer) { fmt.Fprintf(w, "%s  %s\n", id, what) })
			}
			switch {
			case drop != "":
				id, err := cli.Find[codec.Identity](c.Find, "--drop", drop, naming.Query{Kind: naming.SigningKey, Group: c.group})
				if err == nil {
					err = sure.Confirm(c.Ctx, c.Process, func() (string, error) {
						return fmt.Sprintf("forget the private half of the key %s, which nobody else may have", id), nil
					})
				}
				if err == nil {
					err = c.groups.DeleteSigningKey(c.Ctx, c.group, id)
				}
				if err != nil {
					return err
				}
				return show(id, "dropped")
			case fresh || seedFile != "":
				seed, err := c.seed(seedFile)
				if err != nil {
					return err
				}
				id, err := c.groups.AddSigningKey(c.Ctx, c.group, seed)
				if err != nil {
					return err
				}
				return show(id, "added")
			}
			all, err := c.groups.SigningKeys(c.Ctx, c.group)
			if err != nil {
				return err
			}
			for _, id := range all {
				if err := show(id, "held"); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

// seed returns the seed in a file, if one is named. No error says what is in it.
func (c *call) seed(path string) (seed codec.Option[codec.Secret], err error) {
	if path == "" {
		return seed, nil
	}
	b, err := c.Argument("--seed-file", "@"+path)
	if err != nil {
		return seed, err
	}
	raw, err := cli.ParseHex("--seed-file", string(b))
	if err != nil || len(raw) != len(seed.V) {
		return seed, cli.Bad(errors.New("--seed-file: not 64 hex digits"), "")
	}
	return codec.Some(codec.Secret(raw)), nil
}
