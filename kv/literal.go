package kv

import "strings"

var braces = strings.NewReplacer("{", "", "}", "")

// Untagged returns a literal key without the braces of hash tags: with them and without it is
// one key.
func Untagged(key string) string { return braces.Replace(key) }
