package cli

import (
	"encoding/hex"
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/engine"
)

// Optional is a flag that may be set to the empty text. The zero optional is not
// set.
type Optional struct {
	Text  string
	Given bool
}

// Set takes what was given for the flag; see [pflag.Value].
func (o *Optional) Set(text string) error {
	o.Text, o.Given = text, true
	return nil
}

// String returns what the flag is set to; see [pflag.Value].
func (o *Optional) String() string { return o.Text }

// Type returns what help calls the value; see [pflag.Value].
func (o *Optional) Type() string { return "text" }

// Durability is a flag that says how durable a write is.
type Durability engine.Durability

// Register adds the flag to those of a command.
func (d *Durability) Register(fs *pflag.FlagSet) {
	fs.Var(d, "durability", "synced survives a power loss; wal only the end of the daemon")
}

// Set takes what was given for the flag; see [pflag.Value].
func (d *Durability) Set(text string) error {
	for known := engine.Synced; known.Valid(); known++ {
		if strings.EqualFold(text, known.String()) {
			*d = Durability(known)
			return nil
		}
	}
	return errors.New("neither synced nor wal")
}

// String returns what the flag is set to; see [pflag.Value].
func (d *Durability) String() string { return engine.Durability(*d).String() }

// Type returns what help calls the value; see [pflag.Value].
func (d *Durability) Type() string { return "synced|wal" }

// HexBytes are bytes that stand as hex in JSON.
type HexBytes []byte

// MarshalText returns the bytes in hex. It never fails.
func (b HexBytes) MarshalText() ([]byte, error) { return hex.AppendEncode([]byte{}, b), nil }
