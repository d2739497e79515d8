package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/toml/v2"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

// envPrefix begins the names of environment variables that set flags: STOA_DIR
// is --dir, STOA_CACHE_SIZE is --cache-size.
const envPrefix = "STOA_"

// configure sets the flags that are not on the command line: from the
// environment, else from the file that --config or STOA_CONFIG names. A setting
// of the file that is no flag is an error.
func (p *process) configure(fs *pflag.FlagSet) error {
	fromEnv := koanf.New(".")
	err := fromEnv.Load(env.Provider(".", env.Opt{
		Prefix:      envPrefix,
		EnvironFunc: func() []string { return p.env },
		TransformFunc: func(name, value string) (string, any) {
			return settingName(strings.TrimPrefix(name, envPrefix)), value
		},
	}), nil)
	if err != nil {
		return bad(fmt.Errorf("read the environment: %w", err), "")
	}
	for name := range fromEnv.All() {
		if fromEnv.String(name) == "" { // as good as not set
			continue
		}
		source := envPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if err := setFlag(fs, name, source, fromEnv.Get(name)); err != nil {
			return err
		}
	}
	path := fs.Lookup("config").Value.String()
	if path == "" {
		return nil
	}
	return configureFromFile(fs, path)
}

func configureFromFile(fs *pflag.FlagSet, path string) error {
	settings := koanf.New(".")
	if err := settings.Load(file.Provider(path), toml.Parser()); err != nil {
		return bad(fmt.Errorf("--config %s: %w", path, err), "")
	}
	for name, value := range settings.All() {
		known := settingName(name)
		if fs.Lookup(known) == nil || known == "config" {
			names := settingNames(fs)
			return bad(fmt.Errorf("--config %s: no setting %q%s", path, name, didYouMean(known, names)),
				"the settings are "+strings.Join(names, ", "))
		}
		if err := setFlag(fs, known, path+": "+name, value); err != nil {
			return err
		}
	}
	return nil
}

// setFlag sets a flag that has not been set, as if value stood on the command
// line. Names that are no flags are left alone: the environment has others.
func setFlag(fs *pflag.FlagSet, name, source string, value any) error {
	f := fs.Lookup(name)
	if f == nil || f.Changed {
		return nil
	}
	text := fmt.Sprint(value)
	if list, ok := value.([]any); ok {
		var parts []string
		for _, item := range list {
			parts = append(parts, fmt.Sprint(item))
		}
		text = strings.Join(parts, ",")
	}
	if err := fs.Set(name, text); err != nil {
		return bad(fmt.Errorf("%s: %w", source, err), "")
	}
	return nil
}

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
