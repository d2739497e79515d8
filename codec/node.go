package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// node is one parsed JSON value. encoding/json alone will not do: it takes
// unknown, missing and repeated members without a word.
type node struct {
	kind  nodeKind
	text  string   // a string's content, a number's or bool's spelling
	names []string // an object's members
	items []*node  // their values, or a list's elements
	asked []string // members that were asked for
}

type nodeKind uint8

const (
	nullNode nodeKind = iota
	boolNode
	numberNode
	stringNode
	listNode
	objectNode
)

func (k nodeKind) String() string {
	return [...]string{"null", "true or false", "a number", "a string", "a list", "an object"}[k]
}

// maxJSONDepth bounds the recursion of parseJSON, far above what records need.
const maxJSONDepth = 16

// member returns the value of the member name, or nil, and notes that it is known.
func (n *node) member(name string) *node {
	if !slices.Contains(n.asked, name) {
		n.asked = append(n.asked, name)
	}
	if i := slices.Index(n.names, name); i >= 0 {
		return n.items[i]
	}
	return nil
}

// unasked returns the first member that was never asked for.
func (n *node) unasked() (string, bool) {
	for _, name := range n.names {
		if !slices.Contains(n.asked, name) {
			return name, true
		}
	}
	return "", false
}

// parseJSON parses exactly one JSON object. The error's text names the place.
func parseJSON(src []byte) (*node, error) {
	if !utf8.Valid(src) {
		return nil, fmt.Errorf("JSON is not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	n, err := parseNode(d, "", 0)
	switch {
	case err == io.EOF:
		return nil, fmt.Errorf("no JSON")
	case err != nil:
		return nil, err
	case n.kind != objectNode:
		return nil, fmt.Errorf("%s instead of %s", n.kind, objectNode)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("something follows the JSON object")
	}
	return n, nil
}

func parseNode(d *json.Decoder, path string, depth int) (*node, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		if depth == maxJSONDepth {
			return nil, fmt.Errorf("%s: nested deeper than %d", path, maxJSONDepth)
		}
		if t == '[' {
			return parseList(d, path, depth)
		}
		return parseObject(d, path, depth)
	case string:
		return &node{kind: stringNode, text: t}, nil
	case json.Number:
		return &node{kind: numberNode, text: t.String()}, nil
	case bool:
		return &node{kind: boolNode, text: fmt.Sprint(t)}, nil
	default:
		return &node{kind: nullNode}, nil
	}
}

func parseList(d *json.Decoder, path string, depth int) (*node, error) {
	n := &node{kind: listNode}
	for d.More() {
		item, err := parseNode(d, fmt.Sprintf("%s[%d]", path, len(n.items)), depth+1)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, err := d.Token()
	return n, err
}

func parseObject(d *json.Decoder, path string, depth int) (*node, error) {
	n := &node{kind: objectNode}
	if path != "" {
		path += "."
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := t.(string) // the decoder accepts nothing else here
		if slices.Contains(n.names, name) {
			return nil, fmt.Errorf("%s%s: given twice", path, name)
		}
		item, err := parseNode(d, path+name, depth+1)
		if err != nil {
			return nil, err
		}
		n.names, n.items = append(n.names, name), append(n.items, item)
	}
	_, err := d.Token()
	return n, err
}

// appendQuoted appends s, which is UTF-8, as a JSON string.
func appendQuoted(dst []byte, s string) []byte {
	b := bytes.NewBuffer(dst)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always has a JSON form
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
