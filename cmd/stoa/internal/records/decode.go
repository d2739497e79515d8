package records

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/keys"
)

func newDecode(p *cli.Process) *cobra.Command {
	return cli.Parent("decode", "Show what the bytes of a key or a value say, offline",
		"  stoa decode key Group 21"+cli.ExampleID+cli.ExampleID+"\n  stoa decode value GroupMemberRole 00",
		newDecodeKey(p), newDecodeValue(p))
}

// decoded is what decode prints with --json.
type decoded struct {
	Column string          `json:"column,omitempty"` // of keys
	Type   string          `json:"type"`
	Fields json.RawMessage `json:"fields"`
	Bytes  int             `json:"bytes"`
}

func newDecodeKey(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "key COLUMN HEX",
		Short: "Decode a key of a column",
		Long:  "Decode a key. The hex digits may be of upper or lower case and start with 0x; - reads them from stdin.",
		Example: `  stoa decode key Group 21` + cli.ExampleID + cli.ExampleID + `
  echo 0x` + cli.ExampleID + ` | stoa decode key meta - --json`,
		Args:              cli.Exactly("COLUMN", "HEX"),
		ValidArgsFunction: cli.CompleteFirst(cli.ColumnNames),
		RunE: func(_ *cobra.Command, args []string) error {
			col, err := cli.ParseColumn(args[0])
			if err != nil {
				return err
			}
			key, err := p.HexArgument("the key", args[1])
			if err != nil {
				return err
			}
			info, err := keys.Identify(col, key)
			if err != nil {
				return err
			}
			fields, err := info.KeyJSON(key)
			if err != nil {
				return err
			}
			return emitDecoded(p, decoded{col.String(), info.Name, fields, len(key)}, cli.RawParts(info))
		},
	}
}

func newDecodeValue(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "value TYPE HEX",
		Short: "Decode a value of a type; secrets are shown",
		Long: `Decode a value. TYPE is the name of a value type, or of the key type under which
the value stands. What was typed is shown, secrets too.`,
		Example: `  stoa decode value GroupMemberRole 00
  stoa decode value GroupMember 00
  stoa decode value GroupAlias 0x040000006D61696E --json`,
		Args:              cli.Exactly("TYPE", "HEX"),
		ValidArgsFunction: cli.CompleteFirst(cli.ValueTypeNames),
		RunE: func(_ *cobra.Command, args []string) error {
			typ, err := cli.ValueType(args[0])
			if err != nil {
				return err
			}
			value, err := p.HexArgument("the value", args[1])
			if err != nil {
				return err
			}
			fields, err := typ.JSON(value, true)
			if err != nil {
				return err
			}
			return emitDecoded(p, decoded{"", typ.Name, fields, len(value)}, cli.RawFields(typ))
		},
	}
}

func emitDecoded(p *cli.Process, d decoded, raw []string) error {
	var failed error
	err := p.Emit(d, func(w io.Writer) {
		if d.Column != "" {
			fmt.Fprintf(w, "%s in %s, %s\n", d.Type, d.Column, cli.Count(d.Bytes, "byte"))
		} else {
			fmt.Fprintf(w, "%s, %s\n", d.Type, cli.Count(d.Bytes, "byte"))
		}
		failed = writeFields(w, d.Fields, raw, "  ")
	})
	if err != nil {
		return err
	}
	return failed
}
