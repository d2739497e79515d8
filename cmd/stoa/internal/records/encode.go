package records

import (
	"encoding/hex"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

func newEncode(p *cli.Process) *cobra.Command {
	return cli.Parent("encode", "Turn a key or a value from JSON into its bytes, offline",
		`  stoa encode key GroupMeta '{"group_id":"`+cli.ExampleID+`"}'
  stoa encode value GroupMemberRole '{"role":"admin"}'`,
		newEncodeKey(p), newEncodeValue(p))
}

// encoded is what encode prints with --json.
type encoded struct {
	Column string `json:"column,omitempty"` // of keys
	Type   string `json:"type"`
	Hex    string `json:"hex"`
	Bytes  int    `json:"bytes"`
}

const encodeLong = `Encode %s from JSON with the fields that ` + "`stoa schema`" + ` lists: ids and bytes in
lower-case hex, u64 and u128 as decimal strings or numbers, enums by variant,
options as null. - reads the JSON from stdin, @FILE from a file.`

func newEncodeKey(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "key TYPE JSON",
		Short: "Encode a key of a type",
		Long:  fmt.Sprintf(encodeLong, "a key"),
		Example: `  stoa encode key GroupMeta '{"group_id":"` + cli.ExampleID + `"}'
  stoa encode key Alias '{"kind":1,"scope":"` + cli.ZeroID + `","name":"main"}' --json`,
		Args:              cli.Exactly("TYPE", "JSON"),
		ValidArgsFunction: cli.CompleteFirst(keyTypeNames),
		RunE: func(_ *cobra.Command, args []string) error {
			info, err := keyType(args[0])
			if err != nil {
				return err
			}
			text, err := p.Argument("the key", args[1])
			if err != nil {
				return err
			}
			key, err := info.KeyFromJSON(text)
			if err != nil {
				return err
			}
			return emitEncoded(p, info.Column.String(), info.Name, key)
		},
	}
}

func newEncodeValue(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "value TYPE JSON",
		Short: "Encode a value of a type",
		Long:  fmt.Sprintf(encodeLong, "a value"),
		Example: `  stoa encode value GroupMemberRole '{"role":"admin"}'
  stoa encode value ContextConfig '{"application_revision":"1","members_revision":7}' --json`,
		Args:              cli.Exactly("TYPE", "JSON"),
		ValidArgsFunction: cli.CompleteFirst(cli.ValueTypeNames),
		RunE: func(_ *cobra.Command, args []string) error {
			typ, err := cli.ValueType(args[0])
			if err != nil {
				return err
			}
			text, err := p.Argument("the value", args[1])
			if err != nil {
				return err
			}
			value, err := typ.FromJSON(text)
			if err != nil {
				return err
			}
			return emitEncoded(p, "", typ.Name, value)
		},
	}
}

func emitEncoded(p *cli.Process, col, typ string, b []byte) error {
	e := encoded{col, typ, hex.EncodeToString(b), len(b)}
	return p.Emit(e, func(w io.Writer) { fmt.Fprintln(w, e.Hex) })
}
