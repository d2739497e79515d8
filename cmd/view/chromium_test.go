package view

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tab is a page in a headless Chromium, driven over a pair of pipes: requests and
// answers are JSON, each with a zero byte behind it.
type tab struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	session string
	next    int
	faults  []string // what the console and the network had to complain about
	axe     string   // axe-core; empty: it is not here
}

// chromiumNames are what the program is called, here and there.
var chromiumNames = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// openTab starts Chromium with an empty page.
func openTab(t *testing.T) *tab {
	if os.Getenv("STOA_TEST_VIEW") == "" {
		t.Skip("`make test-view` drives the page in Chromium")
	}
	program := ""
	for _, name := range chromiumNames {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("NOT TESTED: no Chromium here (" + strings.Join(chromiumNames, ", ") + "); on Debian: apt-get install chromium")
	}
	toRead, to, err := os.Pipe()
	require.NoError(t, err)
	from, fromWrite, err := os.Pipe()
	require.NoError(t, err)
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Minute)
	// The profile is in a directory that Chromium may still write to while it ends.
	profile, err := os.MkdirTemp("", "view")
	require.NoError(t, err)
	browser := exec.CommandContext(ctx, program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-extensions", "--disable-background-networking", "--hide-scrollbars", "--user-data-dir="+profile, "--remote-debugging-pipe", "about:blank")
	browser.ExtraFiles = []*os.File{toRead, fromWrite} // descriptors 3 and 4
	require.NoError(t, browser.Start())
	require.NoError(t, toRead.Close())
	require.NoError(t, fromWrite.Close())
	b := &tab{t: t, to: to, from: bufio.NewReader(from)}
	if axe, err := os.ReadFile("../../bin/view/node_modules/axe-core/axe.min.js"); err == nil {
		b.axe = string(axe)
	} else {
		t.Log("NOT TESTED: whether everybody can use it, for want of axe-core:", err)
	}
	t.Cleanup(func() {
		_ = browser.Process.Kill() // it may have ended
		_ = browser.Wait()
		stop()
		_, _ = to.Close(), from.Close()
		_ = os.RemoveAll(profile)
	})
	var target struct {
		TargetID string `json:"targetId"`
	}
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// message is what goes over the pipes.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// call makes a call and waits for its answer.
func (b *tab) call(method string, params, result any) {
	b.next++
	request, err := json.Marshal(message{ID: b.next, Session: b.session, Method: method, Params: params})
	require.NoError(b.t, err)
	_, err = b.to.Write(append(request, 0))
	require.NoError(b.t, err)
	for {
		line, err := b.from.ReadBytes(0)
		require.NoError(b.t, err, "Chromium has ended")
		var m message
		require.NoError(b.t, json.Unmarshal(line[:len(line)-1], &m))
		switch {
		case m.Method == "Runtime.exceptionThrown" || m.Method == "Log.entryAdded":
			b.faults = append(b.faults, string(line[:len(line)-1]))
		case m.ID == b.next:
			require.Nil(b.t, m.Error, "%s: %+v", method, m.Error)
			if result != nil {
				require.NoError(b.t, json.Unmarshal(m.Result, result))
			}
			return
		}
	}
}

// eval returns what a script comes to.
func eval[T any](b *tab, script string) T {
	var out struct {
		Result struct {
			Value T `json:"value"`
		} `json:"result"`
		Exception json.RawMessage `json:"exceptionDetails"`
	}
	b.call("Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true, "awaitPromise": true}, &out)
	require.Empty(b.t, out.Exception, "%s", script)
	return out.Result.Value
}

// await waits until a script comes to true.
func (b *tab) await(script string) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if eval[bool](b, script) {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s is not so; the page says: %s", script, eval[string](b, "document.body.innerText"))
		}
	}
}

// show goes to a view and waits until it is there.
func (b *tab) show(hash string) {
	eval[any](b, fmt.Sprintf("location.hash === %q || (document.body.dataset.ready = '', location.hash = %q, null)", hash, hash))
	name, _, _ := strings.Cut(strings.TrimPrefix(hash, "#/"), "?")
	b.await(fmt.Sprintf("document.body.dataset.ready === %q", name))
}

// size sets the size of the window, and whether it is dark.
func (b *tab) size(width, height int, dark bool) {
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// picture writes what the window shows into a file of the folder that
// STOA_VIEW_SHOTS names.
func (b *tab) picture(name string) {
	folder := os.Getenv("STOA_VIEW_SHOTS")
	if folder == "" {
		return
	}
	var shot struct {
		Data string `json:"data"`
	}
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	require.NoError(b.t, err)
	require.NoError(b.t, os.MkdirAll(folder, 0o755))
	require.NoError(b.t, os.WriteFile(filepath.Join(folder, name+".png"), png, 0o644))
}
