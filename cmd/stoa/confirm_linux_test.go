package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/server"
)

// destroying are the commands that ask, what they say that goes, and a command that
// tells whether it is there: it exits 0 before and gone after.
var destroying = []struct {
	args, goes, there string
	gone              int
}{
	{"kv tenants drop acme", `drop tenant "acme" with 2 keys, 14 bytes`, "kv get a --tenant acme", cli.ExitNotFound},
	{"policy drop policy 2 --tenant acme", `remove all records of policy.v2`, "record get policy.v2 pol-20251130-000001 --tenant acme", cli.ExitNotFound},
	{"group delete kitchen", `delete, for every member, the group kitchen with 1 group below it and 2 memberships`, "group show drawer", cli.ExitNotFound},
	{"context delete $CONTEXT", `delete the context $CONTEXT from this node, with its states and 1 delta`, "context show $CONTEXT", cli.ExitNotFound},
	{"blob delete $BLOB", `delete the blob $BLOB, 5 B`, "blob stat $BLOB", cli.ExitNotFound},
	{"group signing-keys home --drop $KEY", `forget the private half of the key $KEY, which nobody else may have`, "group signing-keys home", cli.ExitOK},
	{"delete ContextIdentity --context-id $CONTEXT", `delete the secret in ContextIdentity context_id=$CONTEXT, which nobody else may have`, "get ContextIdentity --context-id $CONTEXT", cli.ExitNotFound},
	{`put ContextIdentity --context-id $CONTEXT {"private_key":null,"sender_key":null}`, `replace the secret in ContextIdentity context_id=$CONTEXT, which nobody else may have`, "get ContextIdentity --context-id $CONTEXT", cli.ExitOK},
	{"dag seed $CONTEXT $FILES/snapshot --replace", `replace the shared state and 1 delta of the context $CONTEXT by those of $FILES/snapshot`, "context state get $CONTEXT k", cli.ExitOK},
	{"import $FILES/dump --replace", `replace the records that are there already by those of $FILES/dump`, "kv get a --tenant acme", cli.ExitOK},
	{"task import $FILES/dump --replace --tenant acme", `replace what is there as another by what $FILES/dump has`, "kv get a --tenant acme", cli.ExitOK},
}

// toDestroy returns the socket of a daemon that has what the commands destroy, and the
// names by which they name it.
func toDestroy(t *testing.T) (socket string, names map[string]string) {
	db := mem.New()
	contexts, err := dag.Open(db, dag.Options{Node: codec.NodeID{Lo: 1}})
	require.NoError(t, err)
	substrate, err := kv.Open(db, kv.Options{})
	require.NoError(t, err)
	storage, err := kvstorage.New(substrate, kvstorage.Options{})
	require.NoError(t, err)
	namespaces, err := namespace.Open(db, namespace.Options{})
	require.NoError(t, err)
	policies, err := policy.New(substrate, policy.Options{})
	require.NoError(t, err)
	socket = servingWith(t, db, server.Options{Dag: contexts, KV: storage, Namespaces: namespaces, Records: policies.Records(), Policies: policies})
	t.Cleanup(func() { // before the daemon ends
		require.NoError(t, errors.Join(contexts.Close(), substrate.Close(), namespaces.Close()))
	})
	files := t.TempDir()
	names = map[string]string{"FILES": files}
	must := func(line string) string {
		out, errs, code := stoa(append(strings.Fields(line), "--socket", socket)...)
		require.Zero(t, code, "%s: %s", line, errs)
		return out
	}
	id := func(line string) string { return regexp.MustCompile("[0-9a-f]{64}").FindString(must(line)) }
	must("kv put a 123456 --tenant acme")
	must("kv put b 123456 --tenant acme")
	must(`record create policy {"policy_id":"pol-20251130-000001","scope":"x","name":"n","active":true,"created_by":"user:a","rules":[{"rule_id":"r","condition":"true","action":"allow","priority":0}]} --tenant acme`)
	must("policy migrate policy 1 2 --tenant acme")
	must("namespace create --name home")
	must("group create home --name kitchen")
	must("group create kitchen --name drawer")
	names["CONTEXT"] = id("context create")
	must("dag commit " + names["CONTEXT"] + " --put k=v")
	must(`put ContextIdentity --context-id ` + names["CONTEXT"] + ` {"private_key":"` + strings.Repeat("7", 64) + `","sender_key":null}`)
	must("dag snapshot " + names["CONTEXT"] + " -o " + filepath.Join(files, "snapshot"))
	require.NoError(t, os.WriteFile(filepath.Join(files, "content"), []byte("hello"), 0o600))
	names["KEY"] = id("group signing-keys home --new")
	names["BLOB"] = id("blob put " + filepath.Join(files, "content"))
	require.NoError(t, os.WriteFile(filepath.Join(files, "dump"), nil, 0o600))
	return socket, names
}

// TestWhatDestroysAsks runs each command with every answer there may be, on a terminal
// and without one: only a yes does it, and what goes is said before.
func TestWhatDestroysAsks(t *testing.T) {
	for _, d := range destroying {
		socket, names := toDestroy(t)
		expand := func(s string) string { return os.Expand(s, func(name string) string { return names[name] }) }
		args := append(strings.Fields(expand(d.args)), "--socket", socket)
		there := func(want int) {
			t.Helper()
			_, errs, code := stoa(append(strings.Fields(expand(d.there)), "--socket", socket)...)
			require.Equal(t, want, code, "%s: %s", d.args, errs)
		}
		for _, answer := range []string{"\n", "n\n", "no\n", "yess\n", "\x04", strings.Repeat("y", 100) + "\n"} {
			said, _, code := onTerminal(t, answer, args...)
			require.Equal(t, cli.ExitRefused, code, "%s: %q: %s", d.args, answer, said)
			require.Contains(t, said, expand(d.goes)+"? [y/N]")
			require.Contains(t, said, "nothing was done")
			there(cli.ExitOK)
		}
		said, _, code := onTerminal(t, "y\n", append(args, "--json")...)
		require.Equal(t, cli.ExitRefused, code, "%s: who asks for JSON is a program: %s", d.args, said)
		require.NotContains(t, said, "[y/N]")
		_, said, code = stoa(args...)
		require.Equal(t, cli.ExitRefused, code, said)
		require.Contains(t, said, "this would "+expand(d.goes))
		require.Contains(t, said, "--yes does it")
		there(cli.ExitOK)
		if strings.HasPrefix(d.args, "import") { // the dump of this test is none
			continue
		}
		said, out, code := onTerminal(t, "Y\n", args...)
		require.Zero(t, code, "%s: %s", d.args, said)
		require.NotEmpty(t, out)
		there(d.gone)

		socket, names = toDestroy(t)
		args = append(strings.Fields(expand(d.args)), "--socket", socket, "--yes")
		said, _, code = onTerminal(t, "", args...)
		require.Zero(t, code, "%s: %s", d.args, said)
		require.NotContains(t, said, "[y/N]")
		there(d.gone)
	}
}

// onTerminal runs a command with a terminal, on which what is typed is the answer, and
// returns what the terminal and what stdout shows.
func onTerminal(t *testing.T, typed string, args ...string) (screen, out string, code int) {
	t.Helper()
	master, program := terminal(t)
	_, err := io.WriteString(master, typed)
	require.NoError(t, err)
	var stdout bytes.Buffer
	code = run(args, program, &stdout, program, nil)
	fmt.Fprintln(program, "that is all")
	var shown []byte
	for chunk := make([]byte, 4096); !bytes.Contains(shown, []byte("that is all")); {
		n, err := master.Read(chunk)
		require.NoError(t, err)
		shown = append(shown, chunk[:n]...)
	}
	return string(shown), stdout.String(), code
}

// TestAQuestionEndsWithItsContext asks, and nobody answers but Ctrl-C.
func TestAQuestionEndsWithItsContext(t *testing.T) {
	_, program := terminal(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var sure cli.Confirmation
	err := sure.Confirm(ctx, &cli.Process{Stdin: program, Stdout: io.Discard, Stderr: program}, func() (string, error) { return "delete it", nil })
	require.Equal(t, cli.ExitRefused, cli.Explain(err).Code)
}
