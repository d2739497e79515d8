package keys_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// right must compile, and each of wrong must not: the binding of key, column and
// value is the compiler's.
const right = `put(keys.GroupMember{Group: g, Identity: who}, codec.ReadOnly)
	put(keys.GroupLocalGovNonce{Group: g, Signer: who}, codec.Nonce(1))
	put(keys.GroupOpLog{Group: g, Seq: keys.NewSeq(1)}, codec.OpLogValue{})
	var role codec.GroupMemberRole = get(keys.GroupMember{})
	scan(keys.MembersOf(g), func(keys.GroupMember, codec.GroupMemberRole) {})
	_ = role`

var wrong = map[string]struct{ line, reason string }{
	"value of another key":       {`put(keys.GroupMember{}, codec.Nonce(1))`, "wrong type for method Slot"},
	"plain number as a value":    {`put(keys.GroupLocalGovNonce{}, uint64(1))`, "wrong type for method Slot"},
	"present instead of a value": {`put(keys.GroupParentRef{}, codec.Present{})`, "wrong type for method Slot"},
	"result of another type":     {`var n codec.Nonce = get(keys.GroupMember{}); _ = n`, "codec.Nonce"},
	"context for a group":        {`_ = keys.GroupMember{Group: ctx}`, "codec.ContextID"},
	"group for an identity":      {`_ = keys.GroupMember{Identity: g}`, "codec.GroupID"},
	"hash for a blob":            {`_ = keys.BlobMeta{Blob: codec.Hash{}}`, "codec.Hash"},
	"array of 31 bytes":          {`_ = keys.GroupMeta{Group: [31]byte{}}`, "[31]byte"},
	"slice for an array":         {`_ = keys.GroupMeta{Group: []byte{}}`, "[]byte"},
	"number for a sequence":      {`_ = keys.GroupOpLog{Seq: uint64(1)}`, "uint64"},
	"prefix of a context":        {`_ = keys.MembersOf(ctx)`, "codec.ContextID"},
	"prefix of another key":      {`var p keys.Prefix[keys.GroupOpLog] = keys.MembersOf(g); _ = p`, "keys.Prefix"},
	"scan with another value":    {`scan(keys.MembersOf(g), func(keys.GroupMember, codec.Nonce) {})`, "wrong type for method Slot"},
	"prefix as a key":            {`_ = get(keys.MembersOf(g))`, "missing method AppendBinary"},
	"string for a name":          {`_ = keys.Alias{Name: string(rune(1))}`, "string"},
}

const program = `package p
import ("github.com/stoadb/stoa/codec"; "github.com/stoadb/stoa/keys")
func put[K keys.Key[K, V], V codec.Value[V]](K, V) {}
func get[K keys.Key[K, V], V codec.Value[V]](K) (v V) { return v }
func scan[K keys.Key[K, V], V codec.Value[V]](keys.Prefix[K], func(K, V)) {}
func F(g codec.GroupID, ctx codec.ContextID, who codec.Identity) {
	%s
}
`

func TestWrongUsesDoNotCompile(t *testing.T) {
	cases := map[string]string{"right": right}
	names := map[string]string{}
	for name, w := range wrong {
		pkg := strings.ReplaceAll(name, " ", "_")
		cases[pkg], names[pkg] = w.line, name
	}
	errors := compile(t, cases)
	require.Empty(t, errors["right"])
	for pkg, name := range names {
		require.NotEmpty(t, errors[pkg], "%s compiles", name)
		require.Contains(t, errors[pkg], wrong[name].reason, name)
		require.NotContains(t, errors[pkg], "undefined", name)
		require.NotContains(t, errors[pkg], "syntax error", name)
	}
}

// compile builds one package of this module for each body, in one run and
// without a file in the tree, and returns what the compiler said about each.
func compile(t *testing.T, bodies map[string]string) map[string]string {
	here, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	replace := map[string]string{}
	args := []string{"build", "-overlay", filepath.Join(dir, "overlay.json")}
	for pkg, body := range bodies {
		file := filepath.Join(dir, pkg+".go")
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, program, body), 0o600))
		replace[filepath.Join(here, "compiled", pkg, "p.go")] = file
		args = append(args, "./compiled/"+pkg)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))

	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "the wrong packages compile")
	return byPackage(string(out))
}

// byPackage splits the output of go build at its "# package" lines.
func byPackage(out string) map[string]string {
	parts := map[string]string{}
	for part := range strings.SplitSeq("\n"+out, "\n# ") {
		head, rest, _ := strings.Cut(part, "\n")
		parts[head[strings.LastIndex(head, "/")+1:]] = rest
	}
	return parts
}
