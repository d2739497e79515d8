package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
)

// TestNoOutputShowsASecret runs every command in text and JSON, with a daemon and
// without one, over plain and sealed secrets in all rows that may hold one by
// package keys, and looks for these secrets, and for those that governance has made,
// in outputs, logs, metrics, errors, exports and the page of view.
func TestNoOutputShowsASecret(t *testing.T) {
	if !hasRocks {
		t.Skip("no RocksDB in this build")
	}
	enginetest.SkipUnderRace(t, "TestScripts runs every command too")
	c := newCanaries(t)
	c.plant()
	data, other := c.path("data"), c.path("other")
	c.vars["STOA_DIR"], c.vars["B"] = data, other

	_, stop := c.daemon("serve", "--dir", data, "--raw", "--log-level", "debug", "--job-workers-off", "archive", "--metrics-socket", c.path("metrics.sock"))
	_, stopOther := c.daemon("serve", "--dir", other, "--engine", "mem", "--log-level", "debug", "--json")
	for _, line := range []string{
		"put ContextIdentity --context-id $F1 @$DIR/ContextIdentity.json",
		"put GroupSigningKey --group-id $F1 --key-id $SIGNID @$DIR/GroupSigningKey.json",
		"put NamespaceIdentity --namespace-id $F1 @$DIR/NamespaceIdentity.json",
		"put GroupKeyEntry --group-id $F1 --key-id $KEYID @$DIR/GroupKeyEntry.json",
	} {
		c.run(line, 1)
	}
	c.runFile("online.txt", 1, 2)
	c.harvest(data)
	c.harvest(other)
	c.look("--socket", filepath.Join(data, cli.SocketName))
	c.scrape(c.path("metrics.sock"))
	stop()
	stopOther()
	require.True(t, c.onDisk(data, "the private key of ContextIdentity"), "the secrets were there all the time")

	c.vars["SEAL"], c.vars["PHASE"] = "", "plain"
	c.runFile("offline.txt", 2)
	c.vars["KEY"] = c.file("key", hex.EncodeToString(c.secret("the key of the seal")))
	c.run("rekey --new-key-file $KEY", 1)
	c.vars["PHASE"] = "locked"
	c.runFile("offline.txt", 1)
	c.vars["SEAL"], c.vars["PHASE"] = "--seal-key-file "+c.vars["KEY"], "sealed"
	c.runFile("offline.txt", 1)
	for name := range c.secrets {
		require.False(t, c.onDisk(data, name), "%s is in a sealed store", name)
	}
	c.look(data, "--seal-key-file", c.vars["KEY"])

	_, stop = c.daemon("serve", "--dir", data, "--raw", "--seal-key-file", c.vars["KEY"], "--log-level", "debug", "--log-format", "text", "--metrics-socket", c.path("metrics.sock"))
	for _, line := range []string{"get ContextIdentity --context-id $F1", "scan --column Identity", "scan --column Group", "namespace list",
		"namespace invite $NS$n", "group keys $NS$n", "group signing-keys $NS$n", "wal dump", "export --plain", "status", "checkpoint $DIR/sealed$n"} {
		c.run(line, 1)
		c.run(line, 2)
	}
	c.scrape(c.path("metrics.sock"))
	stop()
	c.vars["NEW"] = c.file("next", "another passphrase")
	c.run("1 rekey --seal-key-file $NEW --new-passphrase-file $NEW", 2)
	c.run("rekey --seal-key-file $KEY --new-passphrase-file $NEW", 2)

	c.demandAll()
	c.demandNone()
	require.Greater(t, len(c.said), 700)
}

// Secrets that do not parse are shown no more than others.
func TestNoOutputShowsADamagedSecret(t *testing.T) {
	if !hasRocks {
		t.Skip("no RocksDB in this build")
	}
	enginetest.SkipUnderRace(t, "TestScripts runs every command too")
	c := newCanaries(t)
	c.vars["STOA_DIR"] = c.path("data")
	e, err := rocks.Open(c.vars["STOA_DIR"], rocks.Options{})
	require.NoError(t, err)
	var b engine.Batch
	c.vars["SIGNID"], c.vars["KEYID"] = c.vars["F2"], c.vars["F2"]
	one, two := c.id("F1"), c.id("F2")
	for name, at := range map[string]struct {
		column column.Column
		key    []byte
	}{
		"ContextIdentity":   {column.Identity, one},
		"GroupSigningKey":   {column.Group, slices.Concat([]byte{0x25}, one, two)},
		"NamespaceIdentity": {column.Group, slices.Concat([]byte{0x37}, one)},
		"GroupKeyEntry":     {column.Group, slices.Concat([]byte{0x3A}, one, two)},
	} {
		secret := c.secret(name)
		b.Put(at.column, at.key, append([]byte{7}, secret...))                          // of a wrong length, or with a tag that is none
		b.Put(at.column, append(bytes.Clone(at.key), 1), slices.Concat(secret, secret)) // under a key that is none
	}
	require.NoError(t, e.Apply(&b))
	require.NoError(t, e.Close())
	c.runFile("damaged.txt", 1, 2)
	c.look(c.vars["STOA_DIR"])
	c.demandNone()
}

// secret makes a secret to look for.
func (c *canaries) secret(name string) []byte {
	b := make([]byte, 32)
	_, err := rand.Read(b)
	require.NoError(c.t, err)
	c.secrets[name] = b
	return b
}

func (c *canaries) id(name string) []byte {
	b, err := hex.DecodeString(c.vars[name])
	require.NoError(c.t, err)
	return b
}

// plant writes the files that the lines give, with secrets for the four places, and
// names their ids.
func (c *canaries) plant() {
	secret := func(name string) (text, public string, digest codec.Hash) {
		b := c.secret(name)
		pair := ed25519.NewKeyFromSeed(b)
		return strconv.Quote(hex.EncodeToString(b)), hex.EncodeToString(pair[32:]), sha256.Sum256(b)
	}
	private, _, _ := secret("the private key of ContextIdentity")
	sender, _, _ := secret("the sender key of ContextIdentity")
	c.file("ContextIdentity.json", `{"private_key":`+private+`,"sender_key":`+sender+`}`)
	private, c.vars["SIGNID"], _ = secret("GroupSigningKey")
	c.file("GroupSigningKey.json", `{"private_key":`+private+`}`)
	private, public, _ := secret("the private key of NamespaceIdentity")
	sender, _, _ = secret("the sender key of NamespaceIdentity")
	c.file("NamespaceIdentity.json", `{"public_key":"`+public+`","private_key":`+private+`,"sender_key":`+sender+`}`)
	private, _, id := secret("GroupKeyEntry")
	c.vars["KEYID"] = id.String()
	c.file("GroupKeyEntry.json", `{"key":`+private+`}`)
	private, c.vars["E1"], _ = secret("a secret of stdin")
	c.vars["DOC"] = `{"private_key":` + private + `,"sender_key":null}`
	_, c.vars["E2"], _ = secret("the private key of a member")
	c.vars["SECRET"] = hex.EncodeToString(c.secret("a secret that is refused"))
	c.file("seed", hex.EncodeToString(c.secret("a seed")))
	c.file("phrase", "open sesame")
	c.file("wrong", "open barley")
	c.file("blob1", "one")
	c.file("blob2", "two")
	c.file("redis-commands.txt", "HSET ade:task:t-redis:metadata author_id ann\n")
	none := strings.Repeat("00", 32)
	c.file("application.json", `{"application_id":"`+c.vars["A1"]+`","bytecode":"`+none+`","size":"6","source":"file","metadata":"","compiled":"`+none+
		`","package":"p","version":"1","signer_id":"s","services":[]}`)
}

// harvest adds the secrets that a daemon has made.
func (c *canaries) harvest(dir string) {
	client, err := rpc.Dial(context.Background(), filepath.Join(dir, cli.SocketName))
	require.NoError(c.t, err)
	defer client.Close()
	add := func(of string, s codec.Secret) {
		if !s.IsZero() {
			c.secrets[of+" "+s.String()] = s.Bytes()
		}
	}
	before := len(c.secrets)
	for e, err := range engine.Scan(client.Store(c.t.Context()), keys.Prefix[keys.NamespaceIdentity]{}) {
		require.NoError(c.t, err)
		add("a private key of NamespaceIdentity", e.Value.PrivateKey)
		add("a sender key of NamespaceIdentity", e.Value.SenderKey)
	}
	for e, err := range engine.Scan(client.Store(c.t.Context()), keys.Prefix[keys.GroupKeyEntry]{}) {
		require.NoError(c.t, err)
		add("a key of GroupKeyEntry", e.Value.Key)
	}
	for e, err := range engine.Scan(client.Store(c.t.Context()), keys.Prefix[keys.GroupSigningKey]{}) {
		require.NoError(c.t, err)
		add("a seed of GroupSigningKey", e.Value.PrivateKey)
	}
	require.Greater(c.t, len(c.secrets), before)
}

// onDisk reports whether a secret is in a file below a directory, as bytes.
func (c *canaries) onDisk(dir, name string) (found bool) {
	require.Contains(c.t, c.secrets, name)
	require.NoError(c.t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		found = found || bytes.Contains(b, c.secrets[name])
		return err
	}))
	return found
}

// daemon runs a command that goes on until it is stopped, and waits for its socket;
// log is the file that has what it says.
func (c *canaries) daemon(args ...string) (log string, stop func()) {
	socket := c.path("view.sock")
	if i := slices.Index(args, "--dir"); i >= 0 {
		socket = filepath.Join(args[i+1], cli.SocketName)
	}
	said, err := os.CreateTemp(c.vars["DIR"], "log")
	require.NoError(c.t, err)
	cmd := enginetest.EndWithParent(exec.Command("stoa", args...))
	cmd.Stdout, cmd.Stderr = said, said
	require.NoError(c.t, cmd.Start())
	c.mark(args)
	stop = sync.OnceFunc(func() {
		require.NoError(c.t, cmd.Process.Signal(syscall.SIGTERM))
		ended := cmd.Wait()
		text, err := os.ReadFile(said.Name())
		require.NoError(c.t, errors.Join(err, ended, said.Close()), string(text))
		require.NotEmpty(c.t, text)
		c.note("stoa "+strings.Join(args, " "), text)
	})
	c.t.Cleanup(stop)
	require.Eventually(c.t, func() bool {
		conn, err := net.Dial("unix", socket)
		return err == nil && conn.Close() == nil
	}, patience, 10*time.Millisecond)
	return said.Name(), stop
}

// look looks at what the page of view shows of a store.
func (c *canaries) look(source ...string) {
	for _, form := range [][]string{nil, {"--json"}} {
		log, stop := c.daemon(slices.Concat([]string{"view", "--listen", "unix:" + c.path("view.sock")}, form, source)...)
		var token []byte
		require.Eventually(c.t, func() bool {
			text, err := os.ReadFile(log)
			require.NoError(c.t, err)
			token = regexp.MustCompile(`/[A-Za-z0-9_-]{32}/`).Find(text)
			return token != nil
		}, patience, 10*time.Millisecond)
		for _, path := range []string{"", "api/store", "api/survey", "api/findings?full=1&start=1", "api/contexts", "api/namespaces", "api/groups",
			"api/rows?column=Identity", "api/rows?column=Group&limit=200", "api/rows?column=Group&limit=200&reverse=true",
			"api/row?column=Identity&key=" + c.vars["F1"], "api/row?column=Group&key=37" + c.vars["F1"],
			"api/row?column=Group&key=25" + c.vars["F1"] + c.vars["SIGNID"], "api/row?column=Group&key=3a" + c.vars["F1"] + c.vars["KEYID"]} {
			c.fetch(c.path("view.sock"), string(token)+path)
		}
		stop()
	}
}

// scrape looks at the metrics and the profiles of goroutines.
func (c *canaries) scrape(socket string) {
	for _, path := range []string{"/metrics", "/debug/pprof/goroutine?debug=2", "/debug/pprof/cmdline"} {
		c.fetch(socket, path)
	}
}

// fetch looks at what a server on a socket answers.
func (c *canaries) fetch(socket, path string) []byte {
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	defer client.CloseIdleConnections()
	res, err := client.Get("http://localhost" + path)
	require.NoError(c.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	require.Equal(c.t, http.StatusOK, res.StatusCode, "%s: %s", path, body)
	require.NotEmpty(c.t, body, path)
	c.note(path, body)
	return body
}
