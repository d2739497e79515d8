package keys

import "slices"

// The checks of the scopes of package namespace.

func govOpValue(value []byte) error {
	const states = 5 // of a key
	if len(value) < 32+8+1 || slices.ContainsFunc(value[32+8+1:], func(b byte) bool { return b >= states }) {
		return malformed("gov-op", value, "an id, a number, a reason and the states of keys")
	}
	return nil
}

func govHomeValue(value []byte) error {
	if len(value) != 32+3*8 {
		return malformed("gov-home", value, "an id and three numbers")
	}
	return nil
}

func govRulesValue(value []byte) error {
	if len(value) != 4 {
		return malformed("gov-rules", value, "a version")
	}
	return nil
}

func govFollowedValue(value []byte) error {
	if len(value) != 0 {
		return malformed("gov-followed", value, "nothing")
	}
	return nil
}
