package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/stoadb/stoa/engine"
)

// maxArgument is the most bytes that an argument read from a file or from
// stdin takes: a value of the largest size in hex, or in JSON.
const maxArgument = 3 * engine.MaxValue

// argument returns the bytes that an argument stands for: its own, those of
// stdin for "-", those of a file for "@file".
func (p *process) argument(what, arg string) ([]byte, error) {
	path, isFile := strings.CutPrefix(arg, "@")
	if !isFile && arg != "-" {
		return []byte(arg), nil
	}
	r := p.stdin
	if isFile {
		f, err := os.Open(path)
		if err != nil {
			return nil, bad(fmt.Errorf("%s: %w", what, err), "")
		}
		defer f.Close()
		r = f
	}
	b, err := io.ReadAll(io.LimitReader(r, maxArgument+1))
	switch {
	case err != nil:
		return nil, bad(fmt.Errorf("%s: %w", what, err), "")
	case len(b) > maxArgument:
		return nil, bad(fmt.Errorf("%s: more than %s", what, sizeText(maxArgument)), "")
	}
	return b, nil
}

// hexArgument is argument for an argument in hex.
func (p *process) hexArgument(what, arg string) ([]byte, error) {
	text, err := p.argument(what, arg)
	if err != nil {
		return nil, err
	}
	return parseHex(what, string(text))
}
