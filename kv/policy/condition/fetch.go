package condition

import "math"

// fetch returns what is in a map by its name, or in a list by its number: from its end if
// that is negative.
func fetch(at int, from, key any) (any, error) {
	switch from := from.(type) {
	case map[string]any:
		name, ok := key.(string)
		if !ok {
			return nil, clash(at, kindOf(key), isText)
		}
		v, ok := from[name]
		if !ok {
			return nil, missingAt(at, "there is no field %s", name)
		}
		return v, nil
	case []any:
		n, ok := key.(float64)
		if !ok {
			return nil, clash(at, kindOf(key), isNumber)
		}
		if n < 0 {
			n += float64(len(from))
		}
		if n != math.Trunc(n) {
			return nil, faultAt(at, "no whole number")
		}
		if n < 0 || n >= float64(len(from)) {
			return nil, missingAt(at, "the list has no such element")
		}
		return from[int(n)], nil
	}
	return nil, clash(at, kindOf(from), isMap, isList)
}
