package redisdump

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// object is a document in the making.
type object = map[string]any

// shape is what the text of a field stands for. The zero shape is text.
type shape uint8

const (
	plainText shape = iota
	integer
	boolean
	anyJSON // as it stands
	listed  // a list of texts, as JSON; one that is none is a list of one
)

// typed is an object of the fields of a hash, those of which shapes tell in their shapes.
// Fields that are empty, and have another shape than text, are left out.
func typed(fields map[string]string, shapes map[string]shape) (object, error) {
	doc := object{}
	for name, text := range fields {
		s := shapes[name]
		if text == "" && s != plainText {
			continue
		}
		value, err := s.read(text)
		if err != nil {
			return nil, fmt.Errorf("the field %s: %w", name, err)
		}
		doc[name] = value
	}
	return doc, nil
}

func (s shape) read(text string) (any, error) {
	switch s {
	case integer:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no integer", shortened(text))
		}
		return n, nil
	case boolean:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("%q is neither true nor false", shortened(text))
		}
		return b, nil
	case anyJSON:
		if !json.Valid([]byte(text)) {
			return nil, fmt.Errorf("%q is no JSON", shortened(text))
		}
		return json.RawMessage(text), nil
	case listed:
		var list []string
		if json.Unmarshal([]byte(text), &list) != nil {
			list = []string{text}
		}
		return list, nil
	}
	return text, nil
}

// encode is an object as JSON.
func encode(doc object) json.RawMessage {
	text, _ := json.Marshal(doc) // what it is of is JSON, or can be
	return text
}

// text is a field of an object that is a text; "": it is none.
func text(doc object, name string) string {
	s, _ := doc[name].(string)
	return s
}

// fallback sets a field that an object has not, or has empty.
func fallback(doc object, name string, value any) {
	if doc[name] == nil || doc[name] == "" {
		doc[name] = value
	}
}
