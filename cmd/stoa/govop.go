package main

import (
	"encoding/json"
	"strings"

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
	Bytes   hexBytes        `json:"bytes,omitempty"`
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
	t, err := valueType(name)
	if err != nil {
		return nil, err
	}
	return t.JSON(b, true)
}

func newEntryDoc(e *namespace.Entry) (d govOpDoc, err error) {
	d = govOpDoc{Seq: e.Seq, ID: e.ID.String(), Group: e.Op.GroupID.String(), Parents: texts(e.Op.Parents),
		Signer: e.Op.Signer.String(), Nonce: e.Op.Nonce, Verdict: e.Verdict.String()}
	d.Kind = kindOf(nil, &e.Op.Op)
	d.Op, err = contentJSON(nil, &e.Op.Op)
	return d, err
}

// said says for people what an op does, with names where there are some.
func (d *govOpDoc) said(known names) string {
	if d.Op == nil {
		return "sealed"
	}
	fields, err := flatten(d.Op)
	if err != nil {
		return err.Error()
	}
	words := []string{d.Kind}
	for _, f := range fields {
		name, text := f.path[strings.LastIndexByte(f.path, '.')+1:], known.of(f.text)
		if name != "kind" && name != d.Kind {
			words = append(words, name+"="+shortened(text, lineText))
		}
	}
	return strings.Join(words, " ")
}
