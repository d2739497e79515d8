package daemon

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/knadh/koanf/parsers/toml/v2"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// envPrefix begins the names of environment variables that set flags: STOA_DIR
// is --dir, STOA_CACHE_SIZE is --cache-size.
const envPrefix = "STOA_"

// configure sets the flags that are not on the command line: from the
// environment, else from the file that --config or STOA_CONFIG names. A setting
// of the file that is no flag is an error. It returns where each of them was set.
func configure(p *cli.Process, fs *pflag.FlagSet) (origins, error) {
	set := origins{}
	fromEnv := koanf.New(".")
	err := fromEnv.Load(env.Provider(".", env.Opt{
		Prefix:      envPrefix,
		EnvironFunc: func() []string { return p.Env },
		TransformFunc: func(name, value string) (string, any) {
			return settingName(strings.TrimPrefix(name, envPrefix)), value
		},
	}), nil)
	if err != nil {
		return nil, cli.Bad(fmt.Errorf("read the environment: %w", err), "")
	}
	for name := range fromEnv.All() {
		if fromEnv.String(name) == "" { // as good as not set
			continue
		}
		source := envPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if err := set.flag(fs, name, source, fromEnv.Get(name)); err != nil {
			return nil, err
		}
	}
	path := fs.Lookup("config").Value.String()
	if path == "" {
		return set, nil
	}
	return set, set.fromFile(fs, path)
}

// origins are where flags were set that are not on the command line, by flag.
type origins map[string]origin

// origin is where a flag was set.
type origin struct {
	source string // the name of a variable, or a file and its setting
	value  string
}

// tellingValue is how many bytes a value has at least that an error is taken to name
// by chance no more.
const tellingValue = 4

// explain adds to an error where a flag was set that it names, itself or by its value.
func (o origins) explain(err error) error {
	var f *cli.Failure
	if !errors.As(err, &f) {
		return err
	}
	text := err.Error()
	for _, name := range slices.Sorted(maps.Keys(o)) {
		value := o[name].value
		if namesFlag(text, name) || len(value) >= tellingValue && strings.Contains(text, value) {
			err = cli.Fail(f.Code, fmt.Errorf("%w (--%s was set by %s)", err, name, o[name].source), f.Hint)
		}
	}
	return err
}

// namesFlag reports whether a text has --name in it, and not only as the beginning of
// another flag.
func namesFlag(text, name string) bool {
	for _, rest := range strings.Split(text, "--"+name)[1:] {
		if rest == "" || rest[0] != '-' && !unicode.IsLetter(rune(rest[0])) {
			return true
		}
	}
	return false
}

func (o origins) fromFile(fs *pflag.FlagSet, path string) error {
	settings := koanf.New(".")
	if err := settings.Load(file.Provider(path), toml.Parser()); err != nil {
		return cli.Bad(fmt.Errorf("--config %s: %w", path, err), "")
	}
	for name, value := range settings.All() {
		known := settingName(name)
		if fs.Lookup(known) == nil || known == "config" {
			names := settingNames(fs)
			return cli.Bad(fmt.Errorf("--config %s: no setting %q%s", path, name, cli.DidYouMean(known, names)),
				"the settings are "+strings.Join(names, ", "))
		}
		if err := o.flag(fs, known, path+": "+name, value); err != nil {
			return err
		}
	}
	return nil
}

// flag sets a flag that has not been set, as if value stood on the command
// line. Names that are no flags are left alone: the environment has others.
func (o origins) flag(fs *pflag.FlagSet, name, source string, value any) error {
	f := fs.Lookup(name)
	if f == nil || f.Changed {
		return nil
	}
	parts := []string{fmt.Sprint(value)}
	if list, ok := value.([]any); ok {
		parts = parts[:0]
		for _, item := range list {
			parts = append(parts, fmt.Sprint(item))
		}
	}
	text := strings.Join(parts, ",")
	if f.Value.Type() != repeatable {
		parts = []string{text}
	}
	for _, part := range parts {
		if err := fs.Set(name, part); err != nil {
			return cli.Bad(fmt.Errorf("%s: %w", source, err), "")
		}
	}
	o[name] = origin{source, text}
	return nil
}

// repeatable is the type of flags that are given once for each of several values, which may
// have commas in them.
const repeatable = "stringArray"

// settingName returns the flag that a name in a file or in the environment
// stands for.
func settingName(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "_", "-")
}

func settingNames(fs *pflag.FlagSet) (names []string) {
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Name != "config" && f.Name != "help" {
			names = append(names, f.Name)
		}
	})
	slices.Sort(names)
	return names
}
