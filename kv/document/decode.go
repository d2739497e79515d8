package document

import "encoding/json"

// Decode returns a canonical value as encoding/json does for an any, with numbers as
// json.Number. Of what is no JSON nothing is said.
func Decode(value json.RawMessage) any {
	switch Kind(value) {
	case '{':
		object := map[string]any{}
		all := fieldsOf(value)
		for f, ok := all.next(); ok; f, ok = all.next() {
			name, _ := Text(f.name)
			object[name] = Decode(f.value)
		}
		return object
	case '[':
		array := []any{}
		for element := range Elements(value) {
			array = append(array, Decode(element))
		}
		return array
	case '"':
		text, _ := Text(value)
		return text
	case 't', 'f':
		return value[0] == 't'
	case '0':
		if json.Valid(value) {
			return json.Number(value)
		}
	}
	return nil
}
