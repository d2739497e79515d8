package kvstorage

import (
	"encoding/json"
	"slices"
	"strconv"
)

// arguments are the properties of a canonical JSON object by name. The first
// that is not of the type that is asked for is an error, which each call gives.
type arguments map[string]json.RawMessage

// parseArguments returns the properties of an object, which has none but those
// that are allowed.
func parseArguments(canonical json.RawMessage, allowed ...string) (arguments, error) {
	var a arguments
	if canonical[0] != '{' {
		return nil, refuse(InvalidArgument, "args", "arguments are an object")
	}
	if err := json.Unmarshal(canonical, &a); err != nil {
		return nil, refuse(InvalidArgument, "args", "%s", err)
	}
	for name := range a {
		if !slices.Contains(allowed, name) {
			return nil, refuse(InvalidArgument, "args", "there is an argument that the operation does not have; it has %v", allowed)
		}
	}
	return a, nil
}

// text returns a string; "" if there is none, or it is no string, which no
// operation takes for one.
func (a arguments) text(name string) (s string) {
	if json.Unmarshal(a[name], &s) != nil {
		return ""
	}
	return s
}

func (a arguments) flag(name string) bool { return string(a[name]) == "true" }

// integer returns an integer that stands as a number or as its digits in a
// string, which is how one that is not exact as a double travels.
func integer(canonical json.RawMessage) (int64, bool) {
	text := string(canonical)
	if len(text) > 2 && text[0] == '"' {
		text = text[1 : len(text)-1]
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}

// check returns an error for the first argument that is there and is not of its
// kind.
func (a arguments) check(kinds map[string]func(json.RawMessage) bool) error {
	for name, kind := range kinds {
		if a[name] != nil && !kind(a[name]) {
			return refuse(InvalidArgument, name, "it is not of the type that the operation takes")
		}
	}
	return nil
}

func isText(v json.RawMessage) bool { return v[0] == '"' }
func isFlag(v json.RawMessage) bool { return string(v) == "true" || string(v) == "false" }

// isNumber is an integer that stands as a number.
func isNumber(v json.RawMessage) bool {
	_, err := strconv.ParseInt(string(v), 10, 64)
	return err == nil
}

func isInteger(v json.RawMessage) bool {
	_, ok := integer(v)
	return ok
}

// number returns an integer, or 0.
func (a arguments) number(name string) int64 {
	n, _ := integer(a[name])
	return n
}
