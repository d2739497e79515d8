package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/stoadb/stoa/engine"
)

// maxArgument is the most bytes that an argument read from a file or from
// stdin takes: a value of the largest size in hex, or in JSON.
const maxArgument = 3 * engine.MaxValue

// Argument returns the bytes that an argument stands for: its own, those of
// stdin for "-", those of a file for "@file".
func (p *Process) Argument(what, arg string) ([]byte, error) {
	path, isFile := strings.CutPrefix(arg, "@")
	if !isFile && arg != "-" {
		return []byte(arg), nil
	}
	r := p.Stdin
	if isFile {
		f, err := os.Open(path)
		if err != nil {
			return nil, Bad(fmt.Errorf("%s: %w", what, err), "")
		}
		defer f.Close()
		r = f
	}
	b, err := io.ReadAll(io.LimitReader(r, maxArgument+1))
	switch {
	case err != nil:
		return nil, Bad(fmt.Errorf("%s: %w", what, err), "")
	case len(b) > maxArgument:
		return nil, Bad(fmt.Errorf("%s: more than %s", what, SizeText(maxArgument)), "")
	}
	return b, nil
}

// JSONArgument is Argument for an argument in JSON.
func (p *Process) JSONArgument(what, arg string) (json.RawMessage, error) {
	b, err := p.Argument(what, arg)
	if err != nil {
		return nil, err
	}
	if !json.Valid(b) {
		return nil, Bad(fmt.Errorf("%s: not JSON", what), "- reads it from stdin, @FILE from a file")
	}
	return b, nil
}

// HexArgument is Argument for an argument in hex.
func (p *Process) HexArgument(what, arg string) ([]byte, error) {
	text, err := p.Argument(what, arg)
	if err != nil {
		return nil, err
	}
	return ParseHex(what, string(text))
}
