// Package jsonschema compiles schemas of the draft 2020-12 that refer to nothing outside of
// themselves, and says where a value does not hold to one, without showing the value.
//
// [Compile] makes a [Schema], whose Check returns a [Fault]. Documents of package kv/record
// and values of buckets (kv/bucket) are held to schemas by it.
package jsonschema
