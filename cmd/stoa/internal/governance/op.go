package governance

import (
	"encoding/json"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
)

// govOpDoc is an op as JSON.
type govOpDoc struct {
	Seq     uint64          `json:"seq,string,omitempty"`
	ID      string          `json:"op_id"`
	Group   string          `json:"group_id,omitempty"`
	Parents []string        `json:"parents"`
	Signer  string          `json:"signer"`
	Nonce   uint64          `json:"nonce,string"`
	Verdict string          `json:"verdict"`
	Kind    string          `json:"kind,omitempty"` // where it can be read, as Op
	Op      json.RawMessage `json:"op,omitempty"`
	Bytes   cli.HexBytes    `json:"bytes,omitempty"`
}

// kindOf returns what kind of op it is; empty where that can't be read.
func kindOf(root *codec.RootOp, body *codec.GroupOp) string {
	switch {
	case root != nil:
		return root.Kind.String()
	case body != nil:
		return body.Kind.String()
	}
	return ""
}

// contentJSON returns what an op does as JSON; nil where that can't be read.
func contentJSON(root *codec.RootOp, body *codec.GroupOp) (json.RawMessage, error) {
	var b []byte
	var err error
	name := "GroupOp"
	switch {
	case root != nil:
		name = "RootOp"
		b, err = root.AppendBinary(nil)
	case body != nil:
		b, err = body.AppendBinary(nil)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t, err := cli.ValueType(name)
	if err != nil {
		return nil, err
	}
	return t.JSON(b, true)
}

func newEntryDoc(e *namespace.Entry) (d govOpDoc, err error) {
	d = govOpDoc{Seq: e.Seq, ID: e.ID.String(), Group: e.Op.GroupID.String(), Parents: cli.Texts(e.Op.Parents),
		Signer: e.Op.Signer.String(), Nonce: e.Op.Nonce, Verdict: e.Verdict.String()}
	d.Kind = kindOf(nil, &e.Op.Op)
	d.Op, err = contentJSON(nil, &e.Op.Op)
	return d, err
}

// said says for people what an op does, with names where there are some: in brief, or
// with every field in full.
func (d *govOpDoc) said(known cli.Names, full bool) string {
	if d.Op == nil {
		return "sealed: the key of its group is not here"
	}
	fields, err := cli.Flatten(d.Op)
	if err != nil {
		return err.Error()
	}
	words := []string{d.Kind}
	for _, f := range fields {
		name := f.Path[strings.LastIndexByte(f.Path, '.')+1:]
		if name == "kind" || name == d.Kind || !full && forMachines(f, name) {
			continue
		}
		words = append(words, name+"="+inOp(f, known, full))
	}
	return strings.Join(words, " ")
}

// signedBy returns who signed the op: by name, or by id, of which a brief line has the
// beginning.
func (d *govOpDoc) signedBy(known cli.Names, full bool) string {
	return inOp(cli.Field{Text: d.Signer}, known, full)
}

// inOp returns the text of a field of an op.
func inOp(f cli.Field, known cli.Names, full bool) string {
	text, means := known.Of(f.Text), f.Meaning()
	switch {
	case means != "" && strings.Contains(f.Path, "capabilit"):
		return means
	case means != "":
		return means + " (" + f.Text + ")"
	case full:
		return text
	case text == f.Text && cli.IsID(text):
		return text[:cli.ShortDigits] + "…"
	}
	return cli.Shorten(text, cli.LineText)
}

// forMachines reports whether a brief line leaves the field out: ids that are zeros, and
// what nobody reads.
func forMachines(f cli.Field, name string) bool {
	switch name {
	case "signature", "joiner_signature", "salt", "ephemeral", "sealed":
		return true
	case "nonce":
		return cli.IsID(f.Text)
	}
	return cli.IsID(f.Text) && strings.Trim(f.Text, "0") == ""
}

// opLines ends the help of commands that list ops.
const opLines = `

A line has who signed an op and what it does, in brief; --full and --json have all of it.
Ops are ordered by their parents and carry no clock: the times that some have, such as
created_at, are those that whoever signed them wrote. ` + cli.ConceptsHint + `.`

func fullFlag(fs *pflag.FlagSet, full *bool) {
	fs.BoolVar(full, "full", false, "print whole ids, and the fields that only machines read")
}
