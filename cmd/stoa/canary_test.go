package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/inspect/merod"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/cmd/stoa/internal/records"
)

// canaries looks for secrets in whatever the program says. It runs lines of
// commands, as testdata/canary/online.txt describes them, and remembers what they
// say: some secrets are known only later.
type canaries struct {
	t       *testing.T
	root    *cobra.Command // to find commands in
	vars    map[string]string
	secrets map[string][]byte
	said    []saying
	ran     map[string][2]bool // by the path of a command: as text, as JSON
	offline map[string]bool    // with --offline
}

// saying is something that the program has said.
type saying struct {
	where string
	what  []byte
}

// newCanaries makes what the lines use: directories, ids, files.
func newCanaries(t *testing.T) *canaries {
	root, err := os.MkdirTemp("", "st") // the path of a socket has to be short
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(root)) })
	c := &canaries{t: t, root: newRoot(&cli.Process{}), vars: map[string]string{"DIR": root, "OUT": filepath.Join(root, "out")},
		secrets: map[string][]byte{}, ran: map[string][2]bool{}, offline: map[string]bool{}}
	for _, letter := range "ABCDEF" {
		for _, digit := range "12" {
			name := string(letter) + string(digit)
			c.vars[name] = strings.Repeat(strings.ToLower(name), 32)
		}
	}
	require.NoError(t, os.Mkdir(c.vars["OUT"], 0o700))
	return c
}

// path returns a path in the directory of the test.
func (c *canaries) path(name string) string { return filepath.Join(c.vars["DIR"], name) }

// file writes a file that only its owner may read, and returns its path.
func (c *canaries) file(name, content string) string {
	require.NoError(c.t, os.WriteFile(c.path(name), []byte(content), 0o600))
	return c.path(name)
}

// note remembers what was said.
func (c *canaries) note(where string, what []byte) {
	if z, err := zstd.NewReader(bytes.NewReader(what)); err == nil {
		if plain, err := io.ReadAll(z); err == nil && len(plain) > 0 {
			what = plain
		}
		z.Close()
	}
	c.said = append(c.said, saying{where, bytes.Clone(what)})
}

var canaryLine = regexp.MustCompile(`^([0-9/]+ )?(.*?)((?: => \S+ \S+)*)(?: << (\S+))?$`)

// runFile runs the lines of a file: as text for 1, as JSON for 2.
func (c *canaries) runFile(name string, forms ...int) {
	lines, err := os.ReadFile(filepath.Join("testdata", "canary", name))
	require.NoError(c.t, err)
	for line := range strings.Lines(string(lines)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			for _, n := range forms {
				c.run(line, n)
			}
		}
	}
}

// run runs a line: as text for 1, as JSON for 2.
func (c *canaries) run(line string, n int) {
	parts := canaryLine.FindStringSubmatch(strings.ReplaceAll(line, "$n", strconv.Itoa(n)))
	require.NotNil(c.t, parts, line)
	expand := func(text string) string {
		return os.Expand(text, func(name string) string {
			value, ok := c.vars[name]
			require.True(c.t, ok, "%s: nothing is called %s", line, name)
			return value
		})
	}
	args := strings.Fields(expand(parts[2]))
	if n == 2 {
		args = append(args, "--json")
	}
	var out, errs bytes.Buffer
	code := run(args, strings.NewReader(expand(parts[4])), &out, &errs, []string{"STOA_DIR=" + c.vars["STOA_DIR"]})
	c.note(line+": stdout", out.Bytes())
	c.note(line+": stderr", errs.Bytes())
	want := "0"
	if parts[1] != "" {
		want = strings.TrimSpace(parts[1])
	}
	if !slices.Contains(strings.Split(want, "/"), strconv.Itoa(code)) {
		c.t.Errorf("exit code %d instead of %s: %s\n%s%s", code, want, args, &out, &errs)
	}
	if code != cli.ExitBad {
		c.mark(args)
	}
	for _, keep := range strings.Split(parts[3], " => ")[1:] {
		name, re, _ := strings.Cut(keep, " ")
		found := regexp.MustCompile(re).FindSubmatch(out.Bytes())
		require.NotNil(c.t, found, "%s: nothing like %s in %s%s", args, re, &out, &errs)
		c.vars[name] = string(found[1])
	}
}

// namedPath is the path of a command. Those of key types below get, put, scan and
// delete count as one.
func namedPath(cmd *cobra.Command) string {
	if records.TakesKeyTypes(cmd.Parent()) {
		return cmd.Parent().CommandPath()
	}
	return cmd.CommandPath()
}

// mark remembers that a command was run.
func (c *canaries) mark(args []string) {
	cmd, _, err := c.root.Find(args)
	require.NoError(c.t, err)
	path := namedPath(cmd)
	forms := c.ran[path]
	if slices.Contains(args, "--json") {
		forms[1] = true
	} else {
		forms[0] = true
	}
	c.ran[path] = forms
	if slices.Contains(args, "--offline") {
		c.offline[path] = true
	}
}

// everyLeaf visits the commands that do something, by the paths of namedPath.
func everyLeaf(visit func(path string, cmd *cobra.Command)) {
	seen := map[string]bool{}
	everyCommand(func(cmd *cobra.Command) {
		if cmd.HasParent() && cmd.Runnable() && !cmd.HasSubCommands() && !seen[namedPath(cmd)] {
			seen[namedPath(cmd)] = true
			visit(namedPath(cmd), cmd)
		}
	})
}

// demandAll demands that every command was run in both forms, and offline if it can
// be. bench talks to daemons of its own, which have no secrets.
func (c *canaries) demandAll() {
	everyLeaf(func(path string, cmd *cobra.Command) {
		if path == "stoa bench" {
			return
		}
		if c.ran[path] != [2]bool{true, true} {
			c.t.Errorf("%s has to be run in text and JSON: add lines to testdata/canary", path)
		}
		if cmd.Flag("offline") != nil && !c.offline[path] {
			c.t.Errorf("%s has to be run with --offline: add a line to testdata/canary/offline.txt", path)
		}
	})
}

// demandNone looks for the secrets, in what was said and in the files of $OUT.
func (c *canaries) demandNone() {
	require.NoError(c.t, filepath.WalkDir(c.vars["OUT"], func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		c.note("the file "+d.Name(), b)
		return err
	}))
	require.NotEmpty(c.t, c.secrets)
	all := forms{}
	for name, secret := range c.secrets {
		all.add(name, secret)
	}
	for _, s := range c.said {
		if found := all.in(s.what); found != "" {
			c.t.Errorf("%s shows %s", s.where, found)
		}
	}
}

// forms are how secrets may be written, by the first 8 bytes of each. Of most it is
// parts that are looked for: what shows a part shows too much.
type forms map[[8]byte][]form

type form struct{ text, of string }

// add adds a secret.
func (f forms) add(name string, secret []byte) {
	add := func(as, text string) {
		start := [8]byte([]byte(text))
		f[start] = append(f[start], form{text, name + " as " + as})
	}
	add("base58", merod.Base58(secret))
	for at := 0; at+8 <= len(secret); at += 4 {
		part := secret[at : at+8]
		quoted := fmt.Sprintf("%q", part)
		numbers := strings.Fields(strings.Trim(fmt.Sprint(part), "[]"))
		add("bytes", string(part))
		add("hex", hex.EncodeToString(part))
		add("hex", strings.ToUpper(hex.EncodeToString(part)))
		add("text", quoted[1:len(quoted)-1])
		for _, between := range []string{" ", ",", ", "} {
			add("numbers", strings.Join(numbers, between))
		}
	}
	for at := range 3 {
		for part := secret[at:]; len(part) >= 9; part = part[9:] {
			add("base64", base64.StdEncoding.EncodeToString(part[:9]))
			add("base64", base64.URLEncoding.EncodeToString(part[:9]))
		}
	}
}

// in returns which secret something has, and how it is written; else "".
func (f forms) in(what []byte) string {
	for at := 0; at+8 <= len(what); at++ {
		for _, form := range f[[8]byte(what[at:])] {
			if bytes.HasPrefix(what[at:], []byte(form.text)) {
				return form.of
			}
		}
	}
	return ""
}

func TestASecretIsRecognizedHoweverItIsWritten(t *testing.T) {
	secret, err := hex.DecodeString("00f1e2d3c4b5a697887a6b5c4d3e2f1011223344556677889900aabbccddeeff")
	require.NoError(t, err)
	all := forms{}
	all.add("it", secret)
	for _, text := range []string{
		string(secret), fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret), fmt.Sprintf("%q", secret), fmt.Sprint(secret),
		strings.ReplaceAll(fmt.Sprint(secret), " ", ","), base64.StdEncoding.EncodeToString(secret),
		base64.RawURLEncoding.EncodeToString(append([]byte{1}, secret...)), base64.StdEncoding.EncodeToString(append([]byte{1, 2}, secret...)),
		"key " + merod.Base58(secret), "half of it: " + hex.EncodeToString(secret[:17]),
	} {
		require.NotEmpty(t, all.in([]byte("before "+text+" after")), text)
	}
	require.Empty(t, all.in([]byte("redacted:f1e2d3c4")))
	require.Equal(t, "2NEpo7TZRRrLZSi2U", merod.Base58([]byte("Hello World!")))
}
