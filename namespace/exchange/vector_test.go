package exchange_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"io"
	"net"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/namespace/exchange"
)

var rewrite = flag.Bool("update", false, "write testdata/session.json anew, from what this code says")

// said is a message as the vectors have it.
type said struct {
	Kind byte   `json:"kind"`
	Body string `json:"body"` // hex
}

// vector is a session, as the two sides said it. rpc/SYNC.md describes the file.
type vector struct {
	Namespace string `json:"namespace_id"`
	Context   string `json:"context_id"`
	Alice     string `json:"initiator_key"`
	Bob       string `json:"responder_key"`
	A         []said `json:"initiator"`
	B         []said `json:"responder"`
}

// recorded is a stream that keeps what is written to it.
type recorded struct {
	net.Conn
	mu  sync.Mutex
	all bytes.Buffer
}

func (r *recorded) Write(b []byte) (int, error) {
	r.mu.Lock()
	r.all.Write(b)
	r.mu.Unlock()
	return r.Conn.Write(b)
}

// messages takes apart what was written.
func (r *recorded) messages(t *testing.T) (all []said) {
	b := r.all.Bytes()
	require.True(t, bytes.HasPrefix(b, []byte(preface)))
	for b = b[len(preface):]; len(b) > 0; {
		n := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
		all = append(all, said{b[4], hex.EncodeToString(b[5 : 4+n])})
		b = b[4+n:]
	}
	return all
}

// The bytes of a session, of which all that is drawn is given, are those that others implement against.
func TestSessionsAreAsTheVectorsHaveThem(t *testing.T) {
	nodes := begin(t, 1, "alice", "bob")
	alice, bob := nodes[0], nodes[1]
	defer alice.close()
	defer bob.close()
	level(t, alice, bob)
	for _, n := range nodes {
		require.NoError(t, n.commit(contextOf(0), n.name, "1"))
	}
	left, right := net.Pipe()
	a, b := &recorded{Conn: left}, &recorded{Conn: right}
	done := make(chan error, 1)
	go func() {
		_, err := exchange.Run(bg, b, bob.Stores, exchange.Options{Rand: bytes.NewReader(bytes.Repeat([]byte{0xBB}, 32))})
		done <- err
	}()
	_, err := exchange.Run(bg, a, alice.Stores, exchange.Options{Initiator: true, Rand: bytes.NewReader(bytes.Repeat([]byte{0xAA}, 32))})
	require.NoError(t, err)
	require.NoError(t, <-done)
	seedA, seedB := seedOf("alice"), seedOf("bob")
	if id, err := alice.Governance.ExportIdentity(alice.ns); err == nil {
		seedA = id.PrivateKey
	}
	c := contextOf(0)
	got, err := json.MarshalIndent(vector{
		alice.ns.String(), c.String(), hex.EncodeToString(seedA[:]), hex.EncodeToString(seedB[:]), a.messages(t), b.messages(t),
	}, "", "\t")
	require.NoError(t, err)
	const path = "testdata/session.json"
	if *rewrite {
		require.NoError(t, os.WriteFile(path, append(got, '\n'), 0o666))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got))
}

// FuzzSession has a peer say anything: the session ends, and nothing is kept that was not judged.
func FuzzSession(f *testing.F) {
	f.Add([]byte(preface))
	f.Add(greeting)
	golden, err := os.ReadFile("testdata/session.json")
	require.NoError(f, err)
	var v vector
	require.NoError(f, json.Unmarshal(golden, &v))
	all := []byte(preface)
	for _, m := range v.B {
		body, err := hex.DecodeString(m.Body)
		require.NoError(f, err)
		all = append(all, framed(m.Kind, body...)...)
	}
	f.Add(all)
	nodes := begin(f, 2, "alice", "bob")
	alice := nodes[0]
	require.NoError(f, alice.commit(contextOf(0), "a", "1"))
	f.Cleanup(func() {
		alice.close()
		nodes[1].close()
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		left, right := net.Pipe()
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			_, _ = io.Copy(io.Discard, right)
		}()
		go func() {
			_, _ = right.Write(b)
			_ = left.Close()
		}()
		r, _ := exchange.Run(bg, left, alice.Stores, exchange.Options{Initiator: true, Anyone: true, Rand: bytes.NewReader(bytes.Repeat([]byte{0xAA}, 32))})
		_ = right.Close()
		<-heard
		require.LessOrEqual(t, r.Received, int64(len(b)))
		heads, err := alice.Governance.Heads(bg, alice.ns)
		require.NoError(t, err)
		require.Len(t, heads, 1)
	})
}
