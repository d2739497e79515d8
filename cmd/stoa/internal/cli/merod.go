package cli

import (
	"encoding/json"
	"errors"

	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/inspect/merod"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
)

// MerodFlag names the database of a merod, which a command reads in the place of a store.
type MerodFlag struct{ Dir string }

// Register registers the flag.
func (f *MerodFlag) Register(fs *pflag.FlagSet) {
	fs.StringVar(&f.Dir, "merod", "", "read this database of a merod (data in its home) in the place of a store")
}

// Given reports whether it was. The flags of others do not go with it: their names are given.
func (f *MerodFlag) Given(fs *pflag.FlagSet, others ...string) (bool, error) {
	if f.Dir == "" {
		return false, nil
	}
	for _, name := range others {
		if flag := fs.Lookup(name); flag != nil && flag.Changed {
			return true, Bad(errors.New("--merod and --"+name+" exclude each other"), "")
		}
	}
	return true, nil
}

// Open opens the database, of which no merod may have it open.
func (f *MerodFlag) Open() (*merod.Database, error) {
	if err := rocks.CheckLock(merod.Directory(f.Dir)); errors.Is(err, engine.ErrLocked) {
		return nil, Fail(ExitOpen, errors.New("a process has "+f.Dir+" open: its file LOCK is held"), "stop that merod, or copy its directory and read the copy")
	} else if err != nil {
		return nil, CannotRead(f.Dir, err)
	}
	d, err := merod.Open(f.Dir)
	if err != nil {
		return nil, CannotRead(f.Dir, err)
	}
	return d, nil
}

// MerodLine returns a row of a merod on one line; long fields are cut.
func MerodLine(r merod.Row) (string, error) {
	if r.Fault != "" {
		name := r.Column
		if r.Type != "" {
			name += " " + r.Type
		}
		return Plain(name) + " " + Shorten(r.KeyHex, LineText) + "  not explained: " + r.Fault, nil
	}
	key, err := Inline(r.Key, nil)
	if err != nil {
		return "", err
	}
	value, err := merodValue(r.Value)
	if err != nil {
		return "", err
	}
	line := r.Type + "  "
	for _, part := range []string{key, value} {
		if part != "" {
			line += part + "  "
		}
	}
	line += "(" + r.Layout + ")"
	for _, also := range r.Also {
		value, err := merodValue(also.Value)
		if err != nil {
			return "", err
		}
		line += "  or " + also.Type + "  " + value + "  (" + also.Layout + ")"
	}
	for _, note := range r.Notes {
		line += "  note: " + note
	}
	return line, nil
}

func merodValue(value json.RawMessage) (string, error) {
	if len(value) == 0 || value[0] != '{' && value[0] != '[' {
		return Shorten(string(value), LineText), nil
	}
	if value[0] == '[' {
		value = append(append([]byte(`{"value":`), value...), '}')
	}
	return Inline(value, nil)
}
