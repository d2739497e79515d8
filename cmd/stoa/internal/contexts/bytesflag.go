package contexts

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// bytesFlags say how keys and values of states stand on a command line: as text,
// or in hex.
type bytesFlags struct{ hex bool }

func (f *bytesFlags) register(fs *pflag.FlagSet) {
	fs.BoolVar(&f.hex, "hex", false, "keys and values are given in hex instead of text")
}

// key returns the key that an argument stands for.
func (f *bytesFlags) key(what, text string) ([]byte, error) {
	if f.hex {
		return cli.ParseHex(what, text)
	}
	return []byte(text), nil
}

// written is key for a key that is written: an empty one has to be meant.
func (f *bytesFlags) written(what, text string) ([]byte, error) {
	if text == "" && !f.hex {
		return nil, cli.Bad(fmt.Errorf("%s: the key is empty", what), "if that is meant, give keys and values in hex: --hex")
	}
	return f.key(what, text)
}

// value returns the value that an argument stands for: - is stdin, @FILE a file.
func (f *bytesFlags) value(p *cli.Process, what, text string) ([]byte, error) {
	if f.hex {
		return p.HexArgument(what, text)
	}
	return p.Argument(what, text)
}

// pair returns the key and the value of KEY=VALUE.
func (f *bytesFlags) pair(p *cli.Process, what, text string) (key, value []byte, err error) {
	k, v, ok := strings.Cut(text, "=")
	if !ok {
		return nil, nil, cli.Bad(fmt.Errorf("%s: no = in it", what), "give KEY=VALUE; a VALUE of - is stdin, @FILE a file")
	}
	if key, err = f.written(what, k); err != nil {
		return nil, nil, err
	}
	value, err = f.value(p, what, v)
	return key, value, err
}

// bytesText returns bytes as quoted text where they are that, else in hex.
func bytesText(b []byte) string {
	if quoted, ok := cli.Readable(b); ok {
		return quoted
	}
	return fmt.Sprintf("0x%x", b)
}
