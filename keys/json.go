package keys

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// parseObject parses exactly one flat JSON object, or says why it cannot.
// encoding/json alone would take repeated members without a word.
func parseObject(src []byte) (fields map[string]scalar, fault string) {
	if !utf8.Valid(src) {
		return nil, "JSON is not valid UTF-8"
	}
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, "not a JSON object"
	}
	fields = map[string]scalar{}
	for d.More() {
		name, value, err := parseMember(d)
		if err != nil {
			return nil, err.Error()
		}
		if _, ok := fields[name]; ok {
			return nil, name + ": given twice"
		}
		fields[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, err.Error()
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, "something follows the JSON object"
	}
	return fields, ""
}

func parseMember(d *json.Decoder) (name string, value scalar, err error) {
	t, err := d.Token()
	if err != nil {
		return "", value, err
	}
	name = t.(string) // the decoder accepts nothing else here
	t, err = d.Token()
	switch t := t.(type) {
	case string:
		value = scalar{text: t}
	case json.Number:
		value = scalar{text: t.String(), number: true}
	default:
		if err == nil {
			err = fmt.Errorf("%s: neither a string nor a number", name)
		}
	}
	return name, value, err
}
