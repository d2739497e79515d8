package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace/naming"
)

func newGroupKeys(p *process) *cobra.Command {
	return daemonCommand{
		name: "keys", offline: true, args: []string{"GROUP"}, short: "List the keys of a group: ids and holders", example: "home",
		long: "List the keys of a group as they were introduced: ids and holders, never the keys.",
		run: func(c *daemonCall) error {
			g, known, err := c.groupWithNames()
			if err != nil {
				return err
			}
			all, err := c.groups.Keys(c.ctx, g)
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
				}{k.ID.String(), k.Current, k.Here, texts(k.Holders), k.Op.String(), k.Height}
				var holders []string
				for _, id := range d.Holders {
					holders = append(holders, known.of(id))
				}
				state := "old"
				switch {
				case d.Current:
					state = "current"
				case !d.Here:
					state = "not here"
				}
				if err := c.emit(d, func(w io.Writer) { fmt.Fprintf(w, "%s  %-8s  %s\n", d.ID, state, strings.Join(holders, " ")) }); err != nil {
					return err
				}
			}
			if !current {
				c.guide("none is current: a member gives the group a new one with the next change, or with stoa group rotate " + known.called(g.String()))
			}
			return nil
		},
	}.command(p, "group")
}

func newGroupRotate(p *process) *cobra.Command {
	return daemonCommand{
		name: "rotate", args: []string{"GROUP"}, short: "Give a group the key that is due", example: "home",
		long: `Give a group a new key, where it has none that only members hold, and send the current one
to members who lack it. It exits 5 where neither is due. ` + conceptsHint + `.`,
		run: func(c *daemonCall) error {
			g, err := c.groupArg("GROUP", c.args[0])
			if err != nil {
				return err
			}
			done, err := c.groups.Rotate(c.ctx, g)
			if err != nil {
				return err
			}
			return c.proposed(done, codec.GroupID{})
		},
	}.command(p, "group")
}

func newGroupSigningKeys(p *process) *cobra.Command {
	var fresh bool
	var seedFile, drop string
	var sure confirmation
	return daemonCommand{
		name: "signing-keys", offline: true, args: []string{"GROUP"}, short: "List, add or drop the signing keys that this daemon holds for a group",
		long: `List the Ed25519 keys that this daemon holds for a group: the public halves. --new makes
one, --seed-file takes the seed in a file, 64 hex digits, and --drop, which asks first,
forgets one.`,
		example: "home\nhome --new",
		flags: func(fs *pflag.FlagSet) {
			sure.register(fs)
			fs.BoolVar(&fresh, "new", false, "make one")
			fs.StringVar(&seedFile, "seed-file", "", "take the seed in this file")
			fs.StringVar(&drop, "drop", "", "forget the key with this public half")
		},
		run: func(c *daemonCall) error {
			g, err := c.groupArg("GROUP", c.args[0])
			if err != nil {
				return err
			}
			show := func(id codec.Identity, what string) error {
				return c.emit(map[string]string{"public_key": id.String(), "state": what}, func(w io.Writer) { fmt.Fprintf(w, "%s  %s\n", id, what) })
			}
			switch {
			case drop != "":
				id, err := find[codec.Identity](c.find, "--drop", drop, naming.Query{Kind: naming.SigningKey, Group: g})
				if err == nil {
					err = sure.confirm(c.ctx, c.process, func() (string, error) {
						return fmt.Sprintf("forget the private half of the key %s, which nobody else may have", id), nil
					})
				}
				if err == nil {
					err = c.groups.DeleteSigningKey(c.ctx, g, id)
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
				id, err := c.groups.AddSigningKey(c.ctx, g, seed)
				if err != nil {
					return err
				}
				return show(id, "added")
			}
			all, err := c.groups.SigningKeys(c.ctx, g)
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
	}.command(p, "group")
}

// seed returns the seed in a file, if one is named. No error says what is in it.
func (c *daemonCall) seed(path string) (seed codec.Option[codec.Secret], err error) {
	if path == "" {
		return seed, nil
	}
	b, err := c.argument("--seed-file", "@"+path)
	if err != nil {
		return seed, err
	}
	raw, err := parseHex("--seed-file", string(b))
	if err != nil || len(raw) != len(seed.V) {
		return seed, bad(errors.New("--seed-file: not 64 hex digits"), "")
	}
	return codec.Some(codec.Secret(raw)), nil
}
