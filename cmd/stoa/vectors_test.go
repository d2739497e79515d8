package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// vectors is the file of golden bytes that all implementations share.
type vectors struct {
	Keys, Values []vector
	BadKeys      []vector `json:"bad_keys"`
	BadValues    []vector `json:"bad_values"`
}

type vector struct {
	Column, Type, Hex, Why string
	Fields                 json.RawMessage
}

func readVectors(t *testing.T) (v vectors) {
	b, err := os.ReadFile("../../keys/testdata/schema.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &v))
	require.NotEmpty(t, v.Keys)
	require.NotEmpty(t, v.Values)
	require.NotEmpty(t, v.BadKeys)
	require.NotEmpty(t, v.BadValues)
	return v
}

// stoa runs the program on an empty stdin and returns what it prints.
func stoa(args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = run(args, strings.NewReader(""), &out, &errs, nil)
	return out.String(), errs.String(), code
}

func compact(t *testing.T, b []byte) string {
	var out bytes.Buffer
	require.NoError(t, json.Compact(&out, b))
	return out.String()
}

// fieldsOf returns the fields that decode --json printed.
func fieldsOf(t *testing.T, stdout string) string {
	var d struct{ Fields json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(stdout), &d))
	return string(d.Fields)
}

func TestEveryVectorPassesThroughDecodeAndEncode(t *testing.T) {
	v := readVectors(t)
	for _, k := range v.Keys {
		out, errs, code := stoa("decode", "key", k.Column, k.Hex, "--json")
		require.Zero(t, code, errs)
		require.Equal(t, compact(t, k.Fields), fieldsOf(t, out))
		require.Contains(t, out, `"type":"`+k.Type+`"`)
		out, errs, code = stoa("encode", "key", k.Type, string(k.Fields))
		require.Zero(t, code, errs)
		require.Equal(t, k.Hex+"\n", out)
		_, errs, code = stoa("decode", "key", k.Column, "0x"+strings.ToUpper(k.Hex))
		require.Zero(t, code, errs)
	}
	for _, value := range v.Values {
		out, errs, code := stoa("decode", "value", value.Type, value.Hex, "--json")
		require.Zero(t, code, errs)
		require.Equal(t, compact(t, value.Fields), fieldsOf(t, out))
		out, errs, code = stoa("encode", "value", value.Type, string(value.Fields))
		require.Zero(t, code, errs)
		require.Equal(t, value.Hex+"\n", out)
		_, errs, code = stoa("decode", "value", value.Type, value.Hex)
		require.Zero(t, code, errs)
	}
}

func TestEveryBadVectorIsRefusedWithAReason(t *testing.T) {
	v := readVectors(t)
	for _, k := range v.BadKeys {
		out, errs, code := stoa("decode", "key", k.Column, k.Hex)
		require.Equal(t, cli.ExitBad, code, k.Why)
		require.Empty(t, out)
		require.Contains(t, errs, "keys: ", k.Why)
	}
	for _, value := range v.BadValues {
		out, errs, code := stoa("decode", "value", value.Type, value.Hex)
		require.Equal(t, cli.ExitBad, code, value.Why)
		require.Empty(t, out)
		require.Contains(t, errs, "codec: "+value.Type, value.Why)
	}
}
