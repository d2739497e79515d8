package records

import (
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace/naming"
	"github.com/stoadb/stoa/rpc"
)

// fieldKinds are what the ids in fields of keys are of, by the name of the field.
var fieldKinds = map[string]naming.Kind{
	"context_id": naming.Context, "group_id": naming.Group, "namespace_id": naming.Namespace, "parent_id": naming.Group,
	"child_id": naming.Group, "identity": naming.Member, "signer": naming.Member, "delta_id": naming.Delta,
	"blob_id": naming.Blob, "application_id": naming.Application, "key_id": naming.GroupKey,
}

// findIDs puts whole ids in the place of names and of first digits among the fields of a
// key. It looks nothing up where there are none.
func (k keyed) findIDs(info keys.Info, fs *pflag.FlagSet, values []string) error {
	var look cli.Finder
	var q naming.Query
	for i, f := range info.Fields {
		kind := fieldKinds[f.Name]
		if !fs.Changed(flagName(f)) || kind == 0 || k.open == nil {
			continue
		}
		if !cli.IsID(values[i]) && look == nil {
			var done func() error
			var err error
			if look, done, err = k.open(); err != nil {
				return err
			}
			defer done()
		}
		q.Kind = kind
		if f.Name == "delta_id" && q.Context.IsZero() {
			q.Kind = naming.Op // of a namespace
		}
		if f.Name == "key_id" && info.Name == "GroupSigningKey" {
			q.Kind = naming.SigningKey
		}
		id, err := cli.Find[[32]byte](look, "--"+flagName(f), values[i], q)
		if err != nil {
			return err
		}
		switch kind {
		case naming.Context:
			q.Context = id
		case naming.Group, naming.Namespace:
			q.Group = id
		}
		values[i] = codec.Hash(id).String()
	}
	return nil
}

// lookup returns what connects to a store to look ids up.
func lookup(p *cli.Process, dial func(*cli.Process) (*rpc.Client, error)) func() (cli.Finder, func() error, error) {
	return func() (cli.Finder, func() error, error) {
		client, err := dial(p)
		if err != nil {
			return nil, nil, err
		}
		return cli.FinderOf(p.Ctx, client), client.Close, nil
	}
}
