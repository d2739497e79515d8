package namespace_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
)

// golden is a case of package group as its file has it: ops that are not signed, of
// people who are no keys, with what they amount to (group/README.md, Cases).
type golden struct {
	Ties          bool                                `json:"ties"`
	Ops           []goldenOp                          `json:"ops"`
	Config        map[codec.ContextID]json.RawMessage `json:"config"`
	Equivocations map[codec.Identity]map[string]int   `json:"equivocations"`
	Rows          map[string]string                   `json:"rows"`
}

type goldenOp struct {
	ID      codec.OpID      `json:"id"`
	Version int             `json:"version"`
	Parents []codec.OpID    `json:"parents"`
	Signer  codec.Identity  `json:"signer"`
	Nonce   uint64          `json:"nonce"`
	Root    json.RawMessage `json:"root"`
	Group   codec.GroupID   `json:"group"`
	Body    json.RawMessage `json:"body"`
	KeyOp   *codec.OpID     `json:"key_op"`
	Keys    []goldenKey     `json:"keys"`
	Verdict string          `json:"verdict"`
}

type goldenKey struct {
	Group   codec.GroupID `json:"group"`
	Carries []codec.OpID  `json:"carries"`
}

// ofTwoVersions reports whether a case has ops of version 2 on such of version 1, of which no
// new one can be staged; TestANamespaceGoesOver has recorded ones.
func (g *golden) ofTwoVersions() bool {
	second := func(o goldenOp) bool { return o.Version == 2 }
	return slices.ContainsFunc(g.Ops, second) && !second(g.Ops[0])
}

func readGolden(t require.TestingT, file string) *golden {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var g golden
	require.NoError(t, json.Unmarshal(text, &g))
	return &g
}

// parsed returns the value that JSON describes.
func parsed[V codec.Value[V]](t require.TestingT, name string, text json.RawMessage) (v V) {
	typ, ok := codec.TypeByName(name)
	require.True(t, ok, name)
	b, err := typ.FromJSON(text)
	require.NoError(t, err)
	v, err = v.Decode(b)
	require.NoError(t, err)
	return v
}

func (o *goldenOp) root(t require.TestingT) codec.RootOp {
	return parsed[codec.RootOp](t, "RootOp", o.Root)
}

func (o *goldenOp) body(t require.TestingT) codec.GroupOp {
	return parsed[codec.GroupOp](t, "GroupOp", o.Body)
}

// row returns a row of the case as bytes.
func row(t require.TestingT, key, value string) (k, v []byte) {
	k, err := hex.DecodeString(key)
	require.NoError(t, err)
	v, err = hex.DecodeString(value)
	require.NoError(t, err)
	return k, v
}

// equivocation is whose ops under one nonce are several.
type equivocation struct {
	signer codec.Identity
	nonce  uint64
}
