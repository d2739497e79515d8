package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/server"
)

// noSuchID begins no id.
const noSuchID = "feedfeed"

// idWords are the placeholders of arguments that are ids, with what is there.
var idWords = map[string]string{
	"CONTEXT": "room", "GROUP": "home", "NAMESPACE": "home", "PARENT": "home", "MEMBER": "me", "IDENTITY": "me",
	"DELTA": cli.ExampleID, "OP": cli.ExampleID, "ID": cli.ExampleID, "A": cli.ExampleID, "B": cli.ExampleID, "APPLICATION": cli.ExampleID,
}

// otherWords are those of all other arguments, with what may stand there.
var otherWords = map[string]string{
	"ACTION": "email.send", "AGENT": "cece", "ANSWER": "approve", "ANSWERS": "[]", "ARG": "x", "BUCKET": "notes", "CAPABILITIES": "none", "CHANGES": "-", "COLLECTION": "intent", "COLUMN": "Group", "COMMAND": "true", "COMPLETED": "0", "DAY": "2025-11-30", "DIGEST": "d", "DIR": "", "DOCUMENT": "{}", "DST": "x", "EVENT": "{}", "FAILED": "0", "FILE": "x", "FILE|-": "-", "FILTER": "a.>",
	"FROM": "1", "TO": "2", "INTENT": "int-20251130-abc123", "INVITATION": "00", "JOB": "nightly", "JSON": "{}", "KEY": "k", "METHOD": "m", "NAME": "n", "NUMBER": "1", "OBJECT": "org:acme", "PATCH": "{}", "PAYLOAD": "{}", "POLICY": "open", "PREFIX": "p", "PREVIEW": "{}", "QUEUE": "archive", "REQUEST": "00", "REVISION": "1", "REVIEWER": "ann",
	"ENDPOINT": "tasks:create", "STREAM": "task", "SUBJECT": "a.b", "DELIVERY": "1:1", "CONSUMER": "a", "ENTRY": "1-1", "ROLE": "member", "SCOPE": "email.send", "SCORE": "1", "SERVICE": "activity", "SESSION": "s-1", "SOCKET_A": "a", "SOCKET_B": "b", "SRC": "x", "STATE": "active", "TENANT": "acme", "TOKEN": "1", "USER": "ann", "VALUE": "1", "VERSION": "2", "|": "",
}

// noIDArguments are arguments and flags that are whole ids though they stand where ids
// do, and why.
var noIDArguments = map[string]string{
	"context create [CONTEXT]": "it is a new id", "context place GROUP": "with --namespace, the group is elsewhere", "context place --namespace": "it is not here",
	"diff A": "it is a directory", "diff B": "it is a directory", "kv incr [DELTA]": "it is a number",
	"session create --id": "it is a new id", "sync [NAMESPACE...]": "it is at one of two daemons", "sync --context": "it is at one of two daemons",
	"blob put --id": "it is what the content has to hash to", "namespace invite --invitee": "who is invited is nobody here yet",
	"namespace create --app-key": "it is a hash", "group target --app-key": "it is a hash",
	"dag commit --root": "it is the root that was read", "dag proof verify --root": "it is the root that is trusted",
	"record get ID":             "a record is named by whoever made it",
	"record update ID":          "a record is named by whoever made it",
	"record transition ID":      "a record is named by whoever made it",
	"record delete ID":          "a record is named by whoever made it",
	"record history ID":         "a record is named by whoever made it",
	"record watch [ID]":         "a record is named by whoever made it",
	"policy approval [ID]":      "a record is named by whoever made it",
	"policy approve ID":         "a record is named by whoever made it",
	"policy reject ID":          "a record is named by whoever made it",
	"policy revoke ID":          "a record is named by whoever made it",
	"approval delegate ID":      "an approval is named by whoever made it",
	"approval escalate [ID]":    "an approval is named by whoever made it",
	"approval policy delete ID": "a policy is named by whoever made it",
	"approval respond ID":       "an approval is named by whoever made it",
	"approval show ID":          "an approval is named by whoever made it",
	"task apply ID":             "a task is named by whoever made it",
	"task approve ID":           "a task is named by whoever made it",
	"task cancel ID":            "a task is named by whoever made it",
	"task complete ID":          "a task is named by whoever made it",
	"task delete ID":            "a task is named by whoever made it",
	"task preview ID":           "a task is named by whoever made it",
	"task reject ID":            "a task is named by whoever made it",
	"task retry ID":             "a task is named by whoever made it",
	"task review ID":            "a task is named by whoever made it",
	"task revise ID":            "a task is named by whoever made it",
	"task risk ID":              "a task is named by whoever made it",
	"task show ID":              "a task is named by whoever made it",
	"task stats ID":             "a task is named by whoever made it",
	"task submit ID":            "a task is named by whoever made it",
	"task update ID":            "a task is named by whoever made it",
	"task approve --from":       "it is a state",
	"task cancel --from":        "it is a state",
	"task reject --from":        "it is a state",
	"task revise --from":        "it is a state",
	"task submit --from":        "it is a state",
	"policy decide --context":   "it is a context of conditions",
	"policy use --context":      "it is a context of conditions",
	"policy explain --context":  "it is a context of conditions",
	"ledger show --from":        "it is a time",
	"record list --from":        "it is a value of a field",
}

// idFlags are flags that are ids, wherever they stand; otherFlags are all others that
// take text.
var (
	idFlags    = strings.Fields("application attach context detach drop envelope from head member namespace with id invitee root app-key signer")
	otherFlags = strings.Fields(`after allow-peers approval as by checkpoint-dir column config cursor daemon-user delete dir engine event expect-last export filter format group import intent listen log-format log-level
		metrics-socket migration mode name new-key-file new-passphrase-file offline out output passphrase-file peer placement policy prefix
		private-delete private-put put reason role seal-key-file seal-passphrase-file secret-peers seed-file socket status subject tenant tenant-map to type workload
		key kind scope fragment seq index
		agent author error error-details escalate-to factors on-timeout ip output-key permission priority resource result state tag task
		blobs from-merod identity left merod
		at alias consumer job job-workers-off of-service purpose schema service source taken user worker method`)
	noIDFlags = []string{"dag cursors --drop", "context private scan --from", "context state scan --from", "scan --key"}
)

// TestEveryIDIsFoundByItsFirstDigits goes through the arguments and the flags of all
// commands: each that is an id is looked up.
func TestEveryIDIsFoundByItsFirstDigits(t *testing.T) {
	socket := servingRoom(t)
	unused := maps.Clone(noIDArguments)
	tried := 0
	try := func(args []string, what string) {
		t.Helper()
		tried++
		var out, errs strings.Builder
		code := run(args, strings.NewReader(""), &out, &errs, nil)
		assert.Equal(t, cli.ExitNotFound, code, "%s: stoa %s: %s", what, strings.Join(args, " "), &errs)
		assert.Regexp(t, `no [a-z ]+ here is called "`+noSuchID+`", or has an id that begins so`, errs.String(), "%s: stoa %s", what, strings.Join(args, " "))
	}
	for cmd := range leaves(newRoot(&cli.Process{})) {
		name := strings.TrimPrefix(cmd.CommandPath(), "stoa ")
		if _, isType := keys.ByName(cmd.Name()); isType && name != cmd.Name() {
			tryFields(t, cmd, name, socket, try)
			continue
		}
		line := strings.Fields(name)
		var places []int // of ids in line
		var words []string
		for _, word := range strings.Fields(cmd.Use)[1:] {
			bare := strings.TrimSuffix(strings.Trim(word, "[]."), "...")
			if strings.HasPrefix(bare, "--") || bare == "" || bare == "TYPE" {
				continue
			}
			value, isID := idWords[bare]
			if _, excused := unused[name+" "+word]; excused {
				delete(unused, name+" "+word)
				value, isID = cli.ExampleID, false
			} else if !isID {
				var known bool
				value, known = otherWords[bare]
				require.True(t, known, "stoa %s %s: say in this test whether it is an id", name, word)
			}
			if isID {
				places = append(places, len(line))
				words = append(words, word)
			}
			if value != "" {
				line = append(line, value)
			}
		}
		if cmd.Flag("socket") != nil {
			line = append(line, "--socket", socket)
		}
		if cmd.Flag("yes") != nil {
			line = append(line, "--yes")
		}
		line = append(line, strings.Fields(strings.ReplaceAll(alsoNeeded[name], "SOCKET", socket))...)
		for i, at := range places {
			args := slices.Clone(line)
			args[at] = noSuchID
			try(args, words[i])
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			flag := name + " --" + f.Name
			_, excused := unused[flag]
			delete(unused, flag)
			switch {
			case excused, !strings.HasPrefix(f.Value.Type(), "string"), slices.Contains(noIDFlags, flag), slices.Contains(otherFlags, f.Name):
			case slices.Contains(idFlags, f.Name):
				try(append(slices.Clone(line), "--"+f.Name, noSuchID), flag)
			default:
				t.Errorf("stoa %s: say in this test whether it is an id", flag)
			}
		})
	}
	require.Empty(t, slices.Sorted(maps.Keys(unused)))
	require.Greater(t, tried, 200)
}

// alsoNeeded are flags that a command asks for before it looks anything up.
var alsoNeeded = map[string]string{"dag adopt": "--all", "dag diff": "--peer SOCKET", "dag snapshot": "--output -"}

// otherFields are values of fields that are no ids and no numbers, by their kind.
var otherFields = map[string]string{"scope": "stoa.test", "name": "main", "alias kind": "context"}

// tryFields tries the ids in the fields of a type of keys.
func tryFields(t *testing.T, cmd *cobra.Command, name, socket string, try func(args []string, what string)) {
	info, ok := keys.ByName(cmd.Name())
	require.True(t, ok, name)
	flag := func(f keys.Field) string { return "--" + strings.ReplaceAll(f.Name, "_", "-") }
	for i, f := range info.Fields {
		if f.Bytes != 32 || f.Name == "scope" {
			continue // the scope of an alias is any bytes
		}
		args := append(strings.Fields(name), "--socket", socket)
		for j, other := range info.Fields {
			value := "1"
			switch {
			case i == j:
				value = noSuchID
			case other.Bytes == 32:
				value = cli.ExampleID
			case other.Bytes == 0:
				value = "00ff"
			case otherFields[other.Kind] != "":
				value = otherFields[other.Kind]
			}
			args = append(args, flag(other), value)
			if i == j && strings.HasPrefix(name, "scan") {
				break // of a beginning of the key
			}
		}
		try(args, name+" "+flag(f))
	}
}

// servingRoom serves a namespace home with a context room.
func servingRoom(t *testing.T) string {
	store := mem.New()
	contexts, err := dag.Open(store, dag.Options{Node: codec.NodeID{Lo: 1}})
	require.NoError(t, err)
	namespaces, err := namespace.Open(store, namespace.Options{})
	require.NoError(t, err)
	home, _, err := namespaces.Create(t.Context(), namespace.Create{Alias: codec.Some(codec.AliasName("home"))})
	require.NoError(t, err)
	for _, op := range []codec.GroupOp{
		{Kind: codec.OpContextRegistered, ContextID: codec.ContextID{1}},
		{Kind: codec.OpContextAliasSet, ContextID: codec.ContextID{1}, Name: codec.Some(codec.AliasName("room"))},
	} {
		_, err := namespaces.Propose(t.Context(), home, namespace.Proposal{GroupID: home, Group: &op})
		require.NoError(t, err)
	}
	socket := servingWith(t, store, server.Options{Dag: contexts, Namespaces: namespaces})
	t.Cleanup(func() {
		require.NoError(t, contexts.Close())
		require.NoError(t, namespaces.Close())
	})
	return socket
}
