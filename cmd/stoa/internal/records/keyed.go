package records

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// keyed describes a command that works on keys. It becomes a command with one
// subcommand for each key type, whose flags are the fields of the key.
type keyed struct {
	name, short, long, example string

	argument string                 // what stands after the key, as in "JSON"; empty: nothing
	instance func(keys.Info) string // an example of it; nil: nothing
	prefix   bool                   // leading fields, or a whole column, are enough
	owned    bool                   // it changes records, which services have of their own
	flags    func(fs *pflag.FlagSet)
	run      func(t target, args []string) error

	// foreign does it with the database of another program, if that was asked for; nil: never.
	foreign func(cmd *cobra.Command, kind, column string, fields func() (map[string]string, error)) (done bool, err error)

	// open opens the store in which ids are looked up that are given by their first
	// digits or by a name. It is asked for no other.
	open func() (cli.Finder, func() error, error)
}

// target is what a command line names: one key, or the keys of a type or of a
// column that start with a prefix.
type target struct {
	column column.Column
	info   keys.Info // the zero Info: all types of the column
	key    []byte    // the key or the prefix
}

// typesGroup is under what help lists the commands of key types.
const typesGroup = "types"

// TakesKeyTypes reports whether a command has one below it for each key type.
func TakesKeyTypes(cmd *cobra.Command) bool { return cmd.ContainsGroup(typesGroup) }

func (k keyed) command() *cobra.Command {
	var columnName, keyHex string
	cmd := &cobra.Command{
		Use:   strings.TrimSpace(k.name + " TYPE --FIELD VALUE ... " + k.argument),
		Short: k.short,
		Long: k.long + "\n\nA key is given by its type and its fields (`stoa " + k.name +
			" TYPE --help` lists them),\nor by its column and its bytes in hex.",
		Example: k.example,
		RunE: func(cmd *cobra.Command, args []string) error {
			if k.foreign != nil {
				kind := ""
				if len(args) == 1 && columnName == "" {
					kind = args[0]
				}
				none := func() (map[string]string, error) { return nil, nil }
				if done, err := k.foreign(cmd, kind, columnName, none); done || err != nil {
					return err
				}
			}
			if columnName == "" && keyHex == "" {
				return k.noTarget(args)
			}
			if err := k.checkArgs(cmd, args); err != nil {
				return err
			}
			t, err := k.byBytes(columnName, keyHex)
			if err != nil {
				return err
			}
			return k.run(t, args)
		},
	}
	cmd.SetFlagErrorFunc(k.flagError)
	cmd.Flags().StringVar(&columnName, "column", "", "the column, if the key is given in hex")
	_ = cmd.RegisterFlagCompletionFunc("column", cli.CompleteFirst(cli.ColumnNames)) // fails only for a flag that is not there
	if !k.prefix {
		cmd.Flags().StringVar(&keyHex, "key", "", "the whole key in hex")
	}
	k.flags(cmd.PersistentFlags())
	cmd.AddGroup(&cobra.Group{ID: typesGroup, Title: "Key types:"})
	for info := range keys.Schema() {
		cmd.AddCommand(k.forType(info))
	}
	return cmd
}

// forType returns the subcommand of one key type.
func (k keyed) forType(info keys.Info) *cobra.Command {
	values := make([]string, len(info.Fields))
	use := info.Name
	example := "  stoa " + k.name + " " + info.Name
	for _, f := range info.Fields {
		use += " --" + flagName(f) + " " + placeholder(f)
		example += " --" + flagName(f) + " " + exampleField(f)
	}
	if k.instance != nil {
		example = strings.TrimRight(example+" "+k.instance(info), " ")
	}
	long := ""
	if by, ok := writers[info.Name]; ok && k.owned {
		example, long = by.example(k.name, example), "\n\nA service writes these records; who writes them otherwise does so for repair (`stoa serve --raw`);\nthe example shows the command that does, or where none does how to look."
	}
	cmd := &cobra.Command{
		Use: strings.TrimSpace(use + " " + k.argument), GroupID: typesGroup,
		Short: fmt.Sprintf("in %s: %s", info.Column, info.Value.Name),
		Long: fmt.Sprintf("%s: %s of the column %s, with values of type %s.\nThe fields of a value are %s.",
			k.short, info.Name, info.Column, info.Value.Name, fieldList(valueFields(info))) + long,
		Example: example,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := k.checkArgs(cmd, args); err != nil {
				return err
			}
			if k.foreign != nil {
				given := func() (map[string]string, error) { return givenFields(info, cmd.Flags(), values) }
				if done, err := k.foreign(cmd, info.Name, "", given); done || err != nil {
					return err
				}
			}
			if err := k.findIDs(info, cmd.Flags(), values); err != nil {
				return err
			}
			fields, err := givenFields(info, cmd.Flags(), values)
			if err != nil {
				return err
			}
			t := target{column: info.Column, info: info}
			if t.key, err = k.build(info, fields); err != nil {
				return err
			}
			return k.run(t, args)
		},
	}
	for i, f := range info.Fields {
		cmd.Flags().StringVar(&values[i], flagName(f), "", fieldHelp(f))
	}
	return cmd
}

// build returns the key, or the prefix, with these fields.
func (k keyed) build(info keys.Info, fields map[string]string) ([]byte, error) {
	if k.prefix {
		return info.PrefixFromFields(fields)
	}
	var missing []string
	for _, f := range info.Fields {
		if _, ok := fields[f.Name]; !ok {
			missing = append(missing, "--"+flagName(f))
		}
	}
	if len(missing) > 0 {
		return nil, cli.Bad(fmt.Errorf("%s needs %s", info.Name, strings.Join(missing, " and ")), "")
	}
	return info.KeyFromFields(fields)
}

// byBytes returns the target of a column and a key in hex.
func (k keyed) byBytes(columnName, keyHex string) (t target, err error) {
	if columnName == "" || keyHex == "" && !k.prefix {
		return t, cli.Bad(fmt.Errorf("--column and --key belong together"), "")
	}
	if t.column, err = cli.ParseColumn(columnName); err != nil || k.prefix {
		return t, err
	}
	if t.key, err = cli.ParseHex("--key", keyHex); err == nil {
		t.info, err = keys.Identify(t.column, t.key)
	}
	return t, err
}

// noTarget explains a command line that names no key.
func (k keyed) noTarget(args []string) error {
	other := "--column COLUMN --key HEX"
	if k.prefix {
		other = "--column COLUMN"
	}
	if len(args) > 0 {
		if col, err := cli.ParseColumn(args[0]); err == nil {
			return cli.Bad(fmt.Errorf("%s is a column, not a key type", col), "as in: stoa "+k.name+" "+strings.Replace(other, "COLUMN", col.String(), 1))
		}
		_, err := keyType(args[0])
		return err
	}
	return cli.Bad(fmt.Errorf("stoa %s wants a key type and its fields, or %s", k.name, other),
		"as in: "+strings.TrimSpace(strings.SplitN(k.example, "\n", 2)[0]))
}

func (k keyed) checkArgs(cmd *cobra.Command, args []string) error {
	most := 0
	if k.argument != "" {
		most = 1
	}
	if len(args) <= most {
		return nil
	}
	what := fmt.Sprintf("unexpected argument %q", cli.Shorten(args[0], 40))
	if k.argument != "" { // which it is, and whether it holds a secret, is not clear
		what = fmt.Sprintf("one value at most, not %d arguments", len(args))
	}
	return cli.Bad(fmt.Errorf("%s: %s", cmd.CommandPath(), what),
		"the fields of a key are flags: `"+cmd.CommandPath()+" --help` lists them")
}

// flagError explains a flag that the key type does not have.
func (k keyed) flagError(cmd *cobra.Command, err error) error {
	info, ok := keys.ByName(cmd.Name())
	if ok {
		var names []string
		for _, f := range info.Fields {
			names = append(names, "--"+flagName(f))
		}
		return cli.Bad(cli.FlagFault(err), fmt.Sprintf("the fields of %s are %s; `%s --help` lists all flags",
			info.Name, strings.Join(names, ", "), cmd.CommandPath()))
	}
	if args := cmd.Flags().Args(); len(args) > 0 && !cmd.Flags().Changed("column") {
		if _, unknown := keyType(args[0]); unknown != nil {
			return unknown
		}
	}
	return cli.FlagError(cmd, err)
}

// givenFields returns the fields whose flags are set, ids and bytes in hex as
// package keys wants them.
func givenFields(info keys.Info, fs *pflag.FlagSet, values []string) (map[string]string, error) {
	given := map[string]string{}
	for i, f := range info.Fields {
		if !fs.Changed(flagName(f)) {
			continue
		}
		text := values[i]
		if isHex(f) {
			b, err := cli.ParseHex("--"+flagName(f), text)
			if err != nil {
				return nil, err
			}
			if f.Bytes != 0 && len(b) != f.Bytes {
				return nil, cli.Bad(fmt.Errorf("--%s: %s of hex, not %d", flagName(f), cli.Count(len(b), "byte"), f.Bytes), "")
			}
			text = hex.EncodeToString(b)
		}
		given[f.Name] = text
	}
	return given, nil
}

func isHex(f keys.Field) bool { return f.Bytes == 32 || f.Bytes == 0 }

func flagName(f keys.Field) string { return strings.ReplaceAll(f.Name, "_", "-") }

func fieldHelp(f keys.Field) string {
	switch {
	case f.Bytes == 0:
		return "bytes in hex, which may be none"
	case isHex(f):
		return f.Kind + ": 32 bytes in hex"
	default:
		return f.Kind
	}
}

func placeholder(f keys.Field) string {
	if isHex(f) {
		return "HEX"
	}
	return strings.ToUpper(strings.ReplaceAll(f.Kind, " ", "-"))
}

func exampleField(f keys.Field) string {
	switch f.Name {
	case "scope":
		if isHex(f) { // of an alias of a context
			return cli.ZeroID
		}
	case "context_id":
		return "room"
	case "group_id", "namespace_id", "parent_id":
		return "home"
	case "child_id":
		return "kitchen"
	case "identity", "signer":
		return "alice"
	case "delta_id", "blob_id", "application_id":
		return cli.ExampleDigits
	case "index":
		return "0"
	}
	switch {
	case f.Bytes == 0:
		return "00ff"
	case isHex(f):
		return cli.ExampleID
	case f.Kind == "scope":
		return "stoa.test"
	case f.Kind == "name":
		return "main"
	case f.Kind == "alias kind":
		return "context"
	default:
		return "1"
	}
}

// keyType returns the key type of that name.
func keyType(name string) (keys.Info, error) {
	if i, ok := keys.ByName(name); ok {
		return i, nil
	}
	return keys.Info{}, cli.Bad(fmt.Errorf("no key type %q%s", name, cli.DidYouMean(name, keyTypeNames())), "`stoa schema` lists them")
}

func keyTypeNames() (names []string) {
	for i := range keys.Schema() {
		names = append(names, i.Name)
	}
	return names
}

// store is a store to read records from: a daemon's, or one in a directory.
type store interface {
	engine.Reader
	Close() error
}

func openStore(f *cli.ReadFlags, p *cli.Process) (store, error) {
	if f.Offline != "" {
		s, err := p.OpenSource(f.Offline, &f.Seal)
		if err == nil {
			cli.LockSecrets(s)
		}
		return s, err
	}
	c, err := f.Dial(p)
	if err != nil {
		return nil, err
	}
	return cli.Remote{Store: c.Store(p.Ctx), Closer: c}, nil
}
