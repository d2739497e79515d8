package engine_test

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

// right must compile, and each of wrong must not: that a key, its value and its
// prefix belong together is the compiler's to see.
const right = `engine.Put(b, keys.GroupMember{Group: g, Identity: who}, codec.ReadOnly)
	engine.Put(b, keys.GroupLocalGovNonce{}, 1)
	engine.Expect(b, keys.GroupLocalGovNonce{}, codec.Nonce(1))
	engine.ExpectAbsent(b, keys.GroupOpLog{})
	engine.Delete(b, keys.GroupMember{})
	role, err := engine.Get(db, keys.GroupMember{})
	for e, err := range engine.Scan(db, keys.MembersOf(g)) {
		role, _ = e.Value, err
	}
	for range engine.ScanWindow(db, keys.MembersOf(g), engine.Window[keys.GroupMember]{From: &keys.GroupMember{}}) {
	}
	_, _ = engine.Has(db, keys.GroupMember{})
	_ = db.Update(func(g engine.Getter, b *engine.Batch) error {
		_, err := engine.Get(g, keys.GroupMember{})
		return err
	})
	var _ codec.GroupMemberRole = role
	_ = err`

var wrong = map[string]struct{ line, reason string }{
	"put a value of another key":         {`engine.Put(b, keys.GroupMember{}, codec.Nonce(1))`, "wrong type for method Slot"},
	"put a plain number":                 {`engine.Put(b, keys.GroupLocalGovNonce{}, uint64(1))`, "wrong type for method Slot"},
	"put bytes":                          {`engine.Put(b, keys.GroupMember{}, []byte{1})`, "wrong type for method Slot"},
	"put under bytes":                    {`engine.Put(b, []byte{1}, codec.Nonce(1))`, "[]byte"},
	"put under a prefix":                 {`engine.Put(b, keys.MembersOf(g), codec.Admin)`, "missing method AppendBinary"},
	"put into a store":                   {`engine.Put(db, keys.GroupMember{}, codec.Admin)`, "*engine.Batch"},
	"put under the id of another thing":  {`engine.Put(b, keys.GroupMember{Group: ctx}, codec.Admin)`, "codec.ContextID"},
	"expect a value of another key":      {`engine.Expect(b, keys.GroupMember{}, codec.Nonce(1))`, "wrong type for method Slot"},
	"expect absent with a value":         {`engine.ExpectAbsent(b, keys.GroupMember{}, codec.Admin)`, "too many arguments"},
	"delete a prefix":                    {`engine.Delete(b, keys.MembersOf(g))`, "missing method AppendBinary"},
	"get a value of another key":         {`var n codec.Nonce; n, _ = engine.Get(db, keys.GroupMember{}); _ = n`, "codec.Nonce"},
	"get without looking at the error":   {`role := engine.Get(db, keys.GroupMember{}); _ = role`, "assignment mismatch"},
	"get a prefix":                       {`_, _ = engine.Get(db, keys.MembersOf(g))`, "missing method AppendBinary"},
	"has a prefix":                       {`_, _ = engine.Has(db, keys.MembersOf(g))`, "missing method AppendBinary"},
	"scan a key":                         {`for range engine.Scan(db, keys.GroupMember{}) {}`, "keys.GroupMember"},
	"scan the prefix of another id":      {`for range engine.Scan(db, keys.MembersOf(ctx)) {}`, "codec.ContextID"},
	"scan for values of another key":     {`for e := range engine.Scan(db, keys.MembersOf(g)) { var n codec.Nonce = e.Value; _ = n }`, "codec.Nonce"},
	"scan for keys of another type":      {`for e := range engine.Scan(db, keys.MembersOf(g)) { var k keys.GroupOpLog = e.Key; _ = k }`, "keys.GroupOpLog"},
	"window of another key":              {`for range engine.ScanWindow(db, keys.MembersOf(g), engine.Window[keys.GroupOpLog]{}) {}`, "keys.GroupOpLog"},
	"scan inside an update":              {`_ = db.Update(func(g engine.Getter, b *engine.Batch) error { for range engine.Scan(g, keys.OpsOf(codec.GroupID{})) {}; return nil })`, "missing method"},
	"put in an update through the store": {`_ = db.Update(func(g engine.Getter, b *engine.Batch) error { return g.Apply(b) })`, "g.Apply undefined"},
}

const program = `package p
import ("github.com/stoadb/stoa/codec"; "github.com/stoadb/stoa/engine"; "github.com/stoadb/stoa/keys")
var _ keys.GroupMember
func F(db engine.Engine, b *engine.Batch, g codec.GroupID, ctx codec.ContextID, who codec.Identity) {
	%s
}
`

func TestWrongUsesDoNotCompile(t *testing.T) {
	cases := map[string]string{"right": right}
	for name, w := range wrong {
		cases[packageOf(name)] = w.line
	}
	errors := compile(t, cases)
	require.Empty(t, errors["right"])
	for name, w := range wrong {
		said := errors[packageOf(name)]
		require.NotEmpty(t, said, "%s compiles", name)
		require.Contains(t, said, w.reason, name)
		require.NotContains(t, said, "syntax error", name)
		require.NotContains(t, said, "declared and not used", name)
		require.NotContains(t, said, "imported and not used", name)
	}
}

func packageOf(name string) string { return strings.ReplaceAll(name, " ", "_") }

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
