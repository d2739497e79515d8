package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine/enginetest"
)

// What the examples of help call home, kitchen, alice, bob and room, and the files that
// they name. prepared is where the daemon a, of alice, and b, of bob, run.
const prepareExamples = `
set -e
echo 2222222222222222222222222222222222222222222222222222222222222222 > other
echo hello > app.wasm
echo '{"op":"put","key":"a","value":1}' > changes.jsonl
echo '{"user":"ada"}' > session.json
echo correct horse > phrase; chmod 600 phrase
stoa namespace create --name home
stoa group create home --name kitchen
stoa group alias home alice --member me
stoa namespace invite home > joining
stoa namespace join @joining --dir b > request.b
stoa namespace invite home > invitation
stoa namespace join @invitation --dir b > request
stoa namespace admit @request.b
stoa namespace sync a/stoa.sock b/stoa.sock
stoa group alias home bob --member $(stoa namespace identity home --dir b)
stoa group add kitchen bob
stoa context create --json | sed 's/.*"context_id":"\([0-9a-f]*\)".*/\1/' > room
stoa group register home $(cat room)
stoa group alias home room --context $(cat room)
stoa group join home room me
stoa dag commit room --put counter=1
stoa dag commit room --put draft=1 --private-put draft=1 --private-put counter=1
stoa put ContextPrivateState --context-id room --app-key 00ff --raw hello
stoa dag commit room --hex --put 00ff=31
stoa put Generic --scope stoa.test --fragment 00ff --raw hello
stoa put Alias --kind context --scope ` + cli.ZeroID + ` --name main '{"id":"'$(cat room)'"}'
stoa put ContextIdentity --context-id room '{"private_key":null,"sender_key":null}'
stoa put ApplicationMeta --application-id ` + cli.ExampleID + ` ` + cli.ExampleApplication + `
stoa context create $(cat other)
stoa dag commit $(cat other) --put counter=1 --put draft=1
stoa dag commit $(cat other) --hex --put 00ff=31
stoa context create $(cat room) --dir b
stoa put Alias --dir b --kind context --scope ` + cli.ZeroID + ` --name room '{"id":"'$(cat room)'"}'
stoa group caps home alice manage_contexts
stoa group caps home alice none --context room
stoa group caps home --defaults manage_contexts
stoa group migrated home room to_v2
stoa group upgrade start home 1 2 --contexts 3
stoa put Alias --kind context --scope ` + cli.ZeroID + ` --name room '{"id":"'$(cat room)'"}'
stoa group signing-keys home --new | cut -c1-64 > signing
stoa group keys home | tail -1 | cut -c1-64 > key
stoa dag log room --limit 1 --json | sed 's/.*"delta_id":"\([0-9a-f]*\)".*/\1/' > delta
stoa dag log room --json | tail -1 | sed 's/.*"delta_id":"\([0-9a-f]*\)".*/\1/' > older
stoa dag heads room --json | sed 's/.*"root_hash":"\([0-9a-f]*\)".*/\1/' > root
stoa dag since $(cat other) --bytes | tail -1 > delta.hex
stoa dag proof room counter -o counter.proof
stoa dag snapshot room -o room.snapshot
stoa blob put app.wasm --json | sed 's/.*"blob_id":"\([0-9a-f]*\)".*/\1/' > blob
stoa namespace ops home --json | tail -1 | sed 's/.*"op_id":"\([0-9a-f]*\)".*/\1/' > op
stoa kv tenants create acme
stoa kv put greeting '"hello"' --tenant acme
stoa kv put session '{}' --tenant acme --ttl 1h
stoa kv put leader '"you"' --tenant acme
stoa policy bootstrap --tenant acme
stoa policy settings --strict-chain=false --tenant acme
stoa record create intent '{"intent_id":"int-20251130-abc123","actor":"user:ann","goal":"a quiet week","plan":[{"step":1,"action":"rest","status":"planned"}]}' --tenant acme
stoa record create delegation '{"delegation_id":"del-20251130-abc123","delegator":"user:ann","delegate":"agent:cece.governor.v1","scope":["email.*"],"active":true}' --tenant acme
stoa record create approval '{"approval_id":"apr-20251130-abc123","agent_id":"cece.governor.v1","action":"email.send","status":"pending","expires_at":"2999-01-01T00:00:00Z"}' --tenant acme
echo '{"scope":"email.send","name":"Mail","created_by":"user:ann","active":true,"rules":[]}' > policy.json
stoa record export policy --tenant acme > policies.jsonl
for t in t-draft t-submitted t-plain t-review t-approved t-failed; do stoa task create '{"task_id":"'$t'","metadata":{"author_id":"ann"},"config":{"type":"infrastructure"}}' --tenant acme; done
for t in t-submitted t-plain t-review t-approved t-failed; do stoa task submit $t --tenant acme; done
stoa task review t-plain --tenant acme
stoa approval create '{"approval_id":"app-1","task_id":"t-review","reviewer_id":"ann"}' --tenant acme
for t in t-approved t-failed; do stoa approval create '{"approval_id":"of-'$t'","task_id":"'$t'","reviewer_id":"ann"}' --tenant acme; done
for t in t-approved t-failed; do stoa approval respond of-$t approve --by ann --tenant acme; done
stoa task apply t-failed --agent worker-1 --tenant acme
stoa task complete t-failed --agent worker-1 --result failure --tenant acme
stoa approval policy add '{"policy_id":"policy-1","owner_id":"eve","delegate_to":"bob"}' --tenant acme
stoa setting set feature:batch_approvals enabled --tenant acme
stoa limit check tasks:create ann --max 10 --window 24h --tenant acme
for s in s-1 s-2; do stoa session create ann --id $s --tenant acme; done
stoa event publish task a --tenant acme
stoa event group create task billing --tenant acme
stoa job enqueue deadlock_detect --job leased --tenant acme
stoa job lease deadlock_detect --for 1h --tenant acme | sed 's/.*token \([0-9]*\).*/\1/' > token
stoa job enqueue archive --job failing --max-attempts 1 --tenant acme
stoa job work archive --drain --tenant acme -- false
stoa job enqueue archive --job waiting --tenant acme
stoa lock acquire nightly --agent worker-1 --ttl 59m --tenant acme
stoa lock acquire resource:database:main --agent worker-1 --ttl 59m --tenant acme
stoa lock agent register worker-3 --tenant acme
stoa bucket add notes --history 5 --tenant acme
stoa bucket put notes github.42.title hello --tenant acme
stoa stream add orders --tenant acme
for s in placed paid placed; do stoa stream publish orders orders.$s '{"id":1}' --tenant acme; done
stoa stream consumer add orders billing --filter orders.placed --tenant acme
stoa stream fetch orders billing --limit 1 --tenant acme
echo '{"service":"activity","schemas":{"Entry":{"type":"object","properties":{"who":{"type":"string"}},"required":["who"]}},"resources":{"kv":{"activity":{"purpose":"What was done","schema":{"schema":"Entry"}}}}}' > activity.json
stoa contract propose activity.json --tenant acme
stoa contract accept activity $(stoa contract digest activity.json) --tenant acme
stoa contract reconcile activity --tenant acme
stoa bucket put activity a.1 '{"who":"ann"}' --service activity --tenant acme
sed -i 's/"purpose"/"history":5,"purpose"/' activity.json
stoa contract propose activity.json --tenant acme
echo 'HSET ade:task:t-redis:metadata author_id ann' > redis-commands.txt
`

// goesOn are the examples that run until somebody ends them: only their command line is
// looked at here. outside are those that need what a test does not have.
var (
	goesOn  = regexp.MustCompile(`^stoa (serve|top|monitor|view|shell)\b|^STOA_LOG_LEVEL=debug stoa serve|stoa (kv|record|setting|lock|bucket) watch|stoa event follow|--live|--follow`)
	outside = regexp.MustCompile(`curl|\bssh\b|dot -T|man -l|xxd|stoa bench|stoa namespace upgrade|completion|/usr/local|/run/stoa|/var/lib|/backup|^stoa (rekey|restore|salvage|import|export|checkpoint|wal|reopen)`)
)

// before is what a person has done before an example makes sense.
var before = map[string]string{
	"stoa dag cursors room --drop": "stoa dag follow room --cursor app --ack",
	"stoa dag diff room --peer":    "stoa sync a/stoa.sock b/stoa.sock",
	"stoa dag adopt": "stoa context delete room --yes --dir b && stoa sync a/stoa.sock b/stoa.sock && stoa group remove home bob && stoa dag commit room --put late=1 --dir b && " +
		"{ stoa sync a/stoa.sock b/stoa.sock || true; }",
	"stoa dag seed room":                    "stoa group detach home room",
	"stoa group upgrade start":              "stoa group upgrade done home",
	"stoa group rotate":                     "stoa group leave home --dir b && stoa namespace sync a/stoa.sock b/stoa.sock",
	"stoa delete ContextPrivateState":       "stoa put ContextPrivateState --context-id room --app-key 00ff --raw hello",
	"stoa kv cas leader '\"me\"' --absent":  "stoa kv del leader --tenant acme",
	"stoa context config room --bump":       "stoa group detach home room",
	"stoa context create":                   "stoa context delete room --yes",
	"stoa group create home --name kitchen": "stoa group delete kitchen --yes",
	"stoa group leave kitchen":              "stoa group transfer kitchen bob",
	"stoa put ContextIdentity":              "stoa delete ContextIdentity --context-id room --yes",
	"stoa kv get logo":                      "stoa kv put logo --bytes @app.wasm --tenant acme",
	"stoa bucket add notes":                 "stoa bucket drop notes --tenant acme --yes",
	"stoa task complete":                    "stoa task apply t-approved --agent worker-1 --tenant acme",
	"stoa kv del leader":                    "stoa kv put leader '\"me\"' --tenant acme",
}

// besideB are the lines that need the daemon b; the others do without it.
var besideB = regexp.MustCompile(`\bb/stoa\.sock|--dir b\b`)

// examplesOf returns the examples of a command and of all below it.
func examplesOf(cmd *cobra.Command) (list []string) {
	for line := range strings.Lines(cmd.Example) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	for _, sub := range cmd.Commands() {
		list = append(list, examplesOf(sub)...)
	}
	return list
}

// TestExamplesAreWellFormed parses every example: its command is there, and takes the
// flags and the arguments.
func TestExamplesAreWellFormed(t *testing.T) {
	all := examplesOf(newRoot(&cli.Process{}))
	require.Greater(t, len(all), 280)
	quoted := regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)
	variable := regexp.MustCompile(`\$[a-z]+`) // of the shell, which has a number there
	for _, line := range all {
		require.NotContains(t, line, "@value.json", line)
		for _, part := range strings.Split(line, " | ") {
			_, rest, ok := strings.Cut(" "+part, " stoa ")
			if !ok {
				continue
			}
			rest, _, _ = strings.Cut(rest, " > ")
			rest, _, _ = strings.Cut(rest, " < ")
			rest, _, _ = strings.Cut(rest, " && ")
			var args []string
			for _, word := range quoted.FindAllString(strings.TrimSuffix(rest, ")"), -1) {
				args = append(args, variable.ReplaceAllString(strings.Trim(word, `'"`), "1"))
			}
			cmd, left, err := newRoot(&cli.Process{}).Find(args)
			require.NoError(t, err, line)
			require.NoError(t, cmd.ParseFlags(left), line)
			require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), line)
		}
	}
}

// TestExamplesWorkAsPasted pastes the examples into a shell, beside daemons that have
// what they name. Those that only read share a store; each of the others has its own.
func TestExamplesWorkAsPasted(t *testing.T) {
	if !hasRocks {
		t.Skip("no RocksDB in this build")
	}
	enginetest.SkipUnderRace(t, "TestScripts runs these commands too")
	dir := newPasting(t).dir
	first := &pasting{t: t, dir: filepath.Join(dir, "0")}
	require.NoError(t, os.Mkdir(first.dir, 0o700))
	merods, err := filepath.Abs("../inspect/testdata/merod/home")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(first.dir, ".calimero"), 0o700))
	require.NoError(t, os.Symlink(merods, filepath.Join(first.dir, ".calimero", "node1")))
	first.serve("a", "b")
	out, err := first.paste(prepareExamples)
	require.NoError(t, err, out)
	for _, name := range []string{"delta", "older", "root", "blob", "op", "other", "signing", "key"} {
		b, err := os.ReadFile(filepath.Join(first.dir, name))
		require.NoError(t, err)
		first.ids = append(first.ids, name, strings.TrimSpace(string(b)))
	}
	all := examplesOf(newRoot(&cli.Process{}))
	slices.Sort(all)
	var changing []string
	for _, line := range slices.Compact(all) {
		switch {
		case goesOn.MatchString(line), outside.MatchString(line):
		case strings.Contains(line, "kv get logo"), strings.Contains(line, "--drop"), strings.Contains(line, "--peer"):
			changing = append(changing, line)
		case regexp.MustCompile(` (show|list|log|heads|graph|get|scan|stat|tree|ops|op|members|contexts|aliases|keys|voided|missing|pending|refused|proof|since|snapshot|status|stats|schema|decode|encode|version|inspect|hash|verify|equivocations|capabilities|cursors|ancestor|diff|history|lookup)\b|^stoa contract (plan|digest)`).MatchString(line):
			first.must(line)
		default:
			changing = append(changing, line)
		}
	}
	first.stop()
	for i, line := range changing {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			next := &pasting{t: t, dir: filepath.Join(dir, fmt.Sprint(i+1)), ids: first.ids}
			require.NoError(t, exec.Command("cp", "-a", first.dir, next.dir).Run())
			var earlier []string
			for example, first := range before {
				if strings.HasPrefix(line, example) {
					earlier = append(earlier, first)
				}
			}
			daemons := []string{"a"}
			if besideB.MatchString(strings.Join(append(earlier, line), "\n")) {
				daemons = append(daemons, "b")
			}
			next.serve(daemons...)
			for _, first := range earlier {
				out, err := next.paste(first)
				require.NoError(t, err, out)
			}
			next.must(line)
			next.stop()
			require.NoError(t, os.RemoveAll(next.dir))
		})
	}
}

// pasting is a directory in which examples are pasted, with its daemons.
type pasting struct {
	t       *testing.T
	dir     string
	ids     []string // of what examples name by cli.ExampleDigits: name, id and so on
	daemons []*exec.Cmd
}

// newPasting returns one in an empty directory, whose name is short enough for sockets.
func newPasting(t *testing.T) *pasting {
	dir, err := os.MkdirTemp("", "st")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return &pasting{t: t, dir: dir}
}

// serve starts daemons by their directories, and waits until they listen.
func (p *pasting) serve(names ...string) {
	for _, name := range names {
		cmd := enginetest.EndWithParent(exec.Command("stoa", "serve", "--dir", name, "--log-level", "error", "--job-workers-off", "archive,deadlock_detect"))
		cmd.Dir, cmd.Stderr = p.dir, os.Stderr
		require.NoError(p.t, cmd.Start())
		p.daemons = append(p.daemons, cmd)
	}
	p.t.Cleanup(p.stop)
	for _, name := range names {
		require.NoError(p.t, listens(filepath.Join(p.dir, name, cli.SocketName)))
	}
}

func (p *pasting) stop() {
	for _, cmd := range p.daemons {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
	p.daemons = nil
}

func (p *pasting) paste(line string) (string, error) {
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*patience)
	defer cancel()
	cmd := enginetest.EndWithParent(exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", line))
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "STOA_DIR=a", "HOME="+p.dir)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must pastes an example, with the ids of here in the place of those that stand for the
// reader's own.
func (p *pasting) must(line string) {
	p.t.Helper()
	id := map[string]string{"application": cli.ExampleID}
	for i := 0; i < len(p.ids); i += 2 {
		id[p.ids[i]] = p.ids[i+1]
	}
	kind := "delta"
	switch {
	case strings.Contains(line, "application-id"), strings.Contains(line, "group target"):
		kind = "application"
	case strings.Contains(line, "--with"), strings.Contains(line, "group register"):
		kind = "other"
	case strings.Contains(line, "stoa blob"), strings.Contains(line, "--blob-id"), strings.Contains(line, "--attach"):
		kind = "blob"
	case strings.Contains(line, "stoa namespace op"), strings.Contains(line, "--namespace-id"):
		kind = "op"
	}
	pasted := line
	if strings.Contains(line, "stoa dag ancestor") {
		pasted = strings.Replace(pasted, cli.ExampleDigits, id["older"][:12], 1)
	}
	pasted = strings.ReplaceAll(pasted, cli.ExampleDigits, id[kind][:12])
	pasted = strings.ReplaceAll(pasted, "--root "+cli.ExampleID, "--root "+id["root"])
	secret := map[bool]string{true: "signing", false: "key"}[strings.Contains(line, "SigningKey")]
	pasted = strings.ReplaceAll(pasted, "--key-id "+cli.ExampleID, "--key-id "+id[secret])
	if cmd, _, err := newRoot(&cli.Process{}).Find(strings.Fields(line)[1:]); err == nil && cmd.Flag("yes") != nil && !strings.Contains(line, "|") {
		pasted += " --yes" // what a person answers
	}
	out, err := p.paste(pasted)
	if err != nil {
		p.t.Errorf("%s\n  as: %s\n  %s %v", line, pasted, out, err)
	}
}
