package exchange_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace/exchange"
)

// closing has nodes be closed in the end.
func closing(t *testing.T, nodes ...*node) {
	for _, n := range nodes {
		t.Cleanup(n.close)
	}
}

func takingBlobs(o *exchange.Options) { o.Blobs = 100 << 20 }

// blobOf puts a blob of so many bytes, which its seed gives.
func (n *node) blobOf(seed string, size int) codec.BlobID {
	content := bytes.Repeat([]byte(seed), size/len(seed)+1)[:size]
	stored, _, err := n.Blobs.Put(bg, bytes.NewReader(content), blob.PutOptions{ID: sha256.Sum256(content)})
	require.NoError(n.t, err)
	return stored.ID
}

// attach attaches a blob that is here to a context.
func (n *node) attach(c codec.ContextID, id codec.BlobID) blob.Attachment {
	a, err := n.Blobs.Attachment(bg, c, id)
	require.NoError(n.t, err)
	require.NoError(n.t, n.commit(c, string(a.AppKey), string(a.Value)))
	return a
}

// attached are the blobs that a context names here.
func (n *node) attached(c codec.ContextID) (ids []codec.BlobID) {
	for e, err := range n.Contexts.ScanState(bg, c, blob.AttachedRange()) {
		if errors.Is(err, dag.ErrNoContext) {
			break
		}
		require.NoError(n.t, err)
		id, ok := blob.Attached(e.AppKey)
		require.True(n.t, ok)
		ids = append(ids, id)
	}
	return ids
}

func (n *node) hasBlob(id codec.BlobID) bool {
	_, err := n.Blobs.Stat(id)
	if err != nil {
		require.ErrorIs(n.t, err, engine.ErrNotFound)
	}
	return err == nil
}

func blobsOf(r *exchange.Report) (all exchange.BlobReport) {
	for _, n := range r.Namespaces {
		all.Stored, all.Missing = all.Stored+n.Blobs.Stored, all.Missing+n.Blobs.Missing
		all.Large, all.Sent = all.Large+n.Blobs.Large, all.Sent+n.Blobs.Sent
	}
	return all
}

func TestBlobsThatContextsNameAreExchanged(t *testing.T) {
	nodes := begin(t, 2, "alice", "bob")
	alice, bob := nodes[0], nodes[1]
	closing(t, nodes...)
	level(t, alice, bob)
	large, small, empty := alice.blobOf("large", 3<<20+5), bob.blobOf("small", 5), alice.blobOf("-", 0)
	alice.attach(contextOf(0), large)
	alice.attach(contextOf(1), large)
	alice.attach(contextOf(0), empty)
	bob.attach(contextOf(1), small)
	unnamed := alice.blobOf("unnamed", 7)

	s := level(t, alice, bob)
	require.Zero(t, blobsOf(s.a))
	require.False(t, bob.hasBlob(large), "nobody has asked for it")

	// What both have is the same, and the blobs go all the same; each once, both ways.
	s = level(t, alice, bob, takingBlobs)
	require.Equal(t, exchange.BlobReport{Stored: 1, Sent: 2}, blobsOf(s.a))
	require.Equal(t, exchange.BlobReport{Stored: 2, Sent: 1}, blobsOf(s.b))
	require.True(t, bob.hasBlob(large) && bob.hasBlob(empty) && alice.hasBlob(small))
	require.False(t, bob.hasBlob(unnamed))
	read, err := bob.Blobs.Read(large, 0, blob.ToTheEnd)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, read) // which checks the hash
	require.NoError(t, err)
	require.NoError(t, read.Close())

	s = level(t, alice, bob, takingBlobs)
	require.Zero(t, blobsOf(s.a))
	require.Less(t, s.a.Sent+s.a.Received, int64(1500), "where nothing lacks little is said")

	// A delta and the blob that it names go in one session; who takes none gets none, and one whose
	// content nobody has is missing.
	last := alice.blobOf("last", 5)
	alice.attach(contextOf(0), last)
	gone := alice.blobOf("gone", 5)
	alice.attach(contextOf(0), gone)
	require.NoError(t, alice.Blobs.Delete(bg, gone, false))
	require.NoError(t, alice.commit(contextOf(0), string(blob.AttachedKey(codec.BlobID{1})), "no proof"))
	s = level(t, bob, alice, func(o *exchange.Options) {
		if o.Initiator {
			o.Blobs = 5
		}
	})
	require.Equal(t, exchange.BlobReport{Stored: 1, Missing: 2}, blobsOf(s.a))
	require.Equal(t, exchange.BlobReport{Sent: 1}, blobsOf(s.b))
	require.True(t, bob.hasBlob(last))
}

func TestBlobsThatAreTooLargeStay(t *testing.T) {
	nodes := begin(t, 1, "alice", "bob")
	closing(t, nodes...)
	level(t, nodes[0], nodes[1])
	id, small := nodes[0].blobOf("large", 101), nodes[0].blobOf("small", 100)
	nodes[0].attach(contextOf(0), id)
	nodes[0].attach(contextOf(0), small)
	s := level(t, nodes[0], nodes[1], func(o *exchange.Options) { o.Blobs = 100 })
	require.Equal(t, exchange.BlobReport{Stored: 1, Large: 1}, blobsOf(s.b))
	require.False(t, nodes[1].hasBlob(id))
	require.True(t, nodes[1].hasBlob(small))
}

// Who has seen the id of a blob, and writes it into a context that he may read, does not get the content.
func TestABlobIsGivenToWhoMayReadWhatNamesIt(t *testing.T) {
	nodes := begin(t, 1, "alice", "mallory")
	alice, mallory := nodes[0], nodes[1]
	closing(t, nodes...)
	side := alice.below()
	private := codec.ContextID{8}
	alice.doIn(side, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: private})
	level(t, alice, mallory)
	secret := alice.blobOf("secret", 50)
	a := alice.attach(private, secret)
	require.NoError(t, mallory.commit(contextOf(0), string(a.AppKey), string(a.Value)), "the proof of another context")
	level(t, alice, mallory)
	for _, forged := range []string{"", string(secret[:]), string(a.Value)} {
		require.NoError(t, mallory.commit(contextOf(0), string(a.AppKey), forged))
		s := meet(t, alice, mallory, takingBlobs)
		require.NoError(t, s.errA)
		require.NoError(t, s.errB)
		require.Equal(t, exchange.BlobReport{Missing: 1}, blobsOf(s.b))
		require.False(t, mallory.hasBlob(secret))
	}

	// A blob of a context is asked of, and given to, members of its group alone.
	alice.doIn(side, codec.GroupOp{Kind: codec.OpMemberAdded, Member: idOf("mallory"), Role: codec.Member})
	for range 2 {
		s := meet(t, alice, mallory, takingBlobs)
		require.NoError(t, s.errA)
		require.NoError(t, s.errB)
	}
	require.True(t, mallory.hasBlob(secret))

	// Who is no member gets none, whatever it has; a copy that is trusted gets all.
	stranger := newNode(t, "stranger", codec.GroupID{})
	closing(t, stranger)
	require.NoError(t, stranger.Governance.FollowNamespace(alice.ns))
	s := meet(t, alice, stranger, takingBlobs)
	require.NoError(t, s.errA)
	require.Zero(t, blobsOf(s.a))
	require.False(t, stranger.hasBlob(secret))
	s = meet(t, alice, stranger, takingBlobs, func(o *exchange.Options) { o.Anyone = true })
	require.NoError(t, s.errB)
	// The copy has no keys, and does not know what contexts name.
	require.Zero(t, blobsOf(s.b))
}

// The code of applications goes to whose governance, or whose own rows, name it.
func TestCodeOfApplicationsIsExchanged(t *testing.T) {
	nodes := begin(t, 1, "alice", "bob")
	alice, bob := nodes[0], nodes[1]
	closing(t, nodes...)
	code, service, other := alice.blobOf("code", 50), alice.blobOf("service", 50), alice.blobOf("other", 50)
	app := codec.ApplicationID{5}
	alice.do(codec.GroupOp{Kind: codec.OpTargetApplicationSet, AppKey: codec.Hash(code), TargetApplicationID: app})
	s := level(t, alice, bob, takingBlobs)
	require.Equal(t, exchange.BlobReport{Missing: 1}, blobsOf(s.b), "an id that an op names is not enough: no application has it here")

	meta := codec.ApplicationMeta{ApplicationID: app, Bytecode: code, Services: []codec.ServiceMeta{{Name: "s", Bytecode: service}}}
	register := func(n *node) {
		var b engine.Batch
		engine.Put(&b, keys.ApplicationMeta{App: app}, meta)
		require.NoError(t, n.db.Apply(&b))
	}
	register(alice)
	s = level(t, alice, bob, takingBlobs)
	require.Equal(t, exchange.BlobReport{Stored: 1}, blobsOf(s.b))
	require.True(t, bob.hasBlob(code))
	register(bob)
	s = level(t, alice, bob, takingBlobs)
	require.Equal(t, exchange.BlobReport{Stored: 1}, blobsOf(s.b))
	require.True(t, bob.hasBlob(service))

	// That of a context's own application too.
	for _, n := range nodes {
		require.NoError(t, n.commit(contextOf(0), n.name, "1"))
		require.NoError(t, n.Contexts.SetApplication(contextOf(0), codec.ApplicationMeta{Bytecode: other}))
	}
	level(t, alice, bob, takingBlobs)
	require.True(t, bob.hasBlob(other))
}

// A blob that breaks off goes on where it was.
func TestABlobGoesOnWhereTheLineBroke(t *testing.T) {
	nodes := begin(t, 1, "alice", "bob")
	alice, bob := nodes[0], nodes[1]
	closing(t, nodes...)
	const size = 12 << 20
	id := alice.blobOf("large", size)
	alice.attach(contextOf(0), id)
	level(t, alice, bob)
	total, sessions := int64(0), 0
	for ; !bob.hasBlob(id); sessions++ {
		require.Less(t, sessions, 20, "it gets nowhere")
		left, right := net.Pipe()
		s := meetOver(t, alice, bob, left, &cutOff{Conn: right, left: 3<<20 + 500}, takingBlobs)
		total += s.b.Received
	}
	require.Greater(t, sessions, 3)
	require.Less(t, total, int64(size+sessions*(2<<20)), "what came does not come again")
	d, err := bob.Blobs.Read(id, 0, blob.ToTheEnd)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, d)
	require.NoError(t, err)
	require.NoError(t, d.Close())
}

// Who sends ends when all is taken in, so that who takes in is not hung up on.
func TestNobodyHangsUpOnWhoTakesInBlobs(t *testing.T) {
	nodes := begin(t, 1, "alice", "bob")
	closing(t, nodes...)
	nodes[0].attach(contextOf(0), nodes[0].blobOf("large", 11<<20))
	left, right := net.Pipe()
	b := &recorded{Conn: right}
	s := meetOver(t, nodes[0], nodes[1], left, b, takingBlobs)
	require.NoError(t, s.errA)
	require.NoError(t, s.errB)
	require.Equal(t, exchange.BlobReport{Stored: 1}, blobsOf(s.b))
	said := b.messages(t)
	require.EqualValues(t, 16, said[len(said)-1].Kind, "it says what it has taken in before the other may end")
	require.EqualValues(t, 17, said[len(said)-2].Kind)
}

// cutOff is a line that breaks after so many bytes were read.
type cutOff struct {
	net.Conn
	left int
}

func (c *cutOff) Read(b []byte) (int, error) {
	if c.left == 0 {
		_ = c.Close()
	}
	n, err := c.Conn.Read(b[:min(len(b), max(c.left, 1))])
	c.left -= n
	return n, err
}

// A damaged blob is not sent to its end, and is healed by who has it.
func TestDamagedBlobsAreHealed(t *testing.T) {
	nodes := begin(t, 1, "alice", "bob")
	alice, bob := nodes[0], nodes[1]
	closing(t, nodes...)
	id := alice.blobOf("large", 3<<20)
	alice.attach(contextOf(0), id)
	level(t, alice, bob, takingBlobs)
	require.True(t, bob.hasBlob(id))
	var b engine.Batch
	engine.Put(&b, keys.BlobMeta{Blob: id}, codec.BlobMeta{Size: 1, Hash: codec.Hash{1}, Chunks: 1})
	require.NoError(t, bob.db.Apply(&b))
	s := level(t, alice, bob, takingBlobs)
	require.Equal(t, exchange.BlobReport{Stored: 1}, blobsOf(s.b))
	require.True(t, bob.hasBlob(id))

	b.Reset()
	engine.Delete(&b, keys.BlobChunk{Blob: id, Index: 2})
	require.NoError(t, alice.db.Apply(&b))
	require.NoError(t, bob.Blobs.Delete(bg, id, false))
	s = level(t, alice, bob, takingBlobs)
	require.Equal(t, exchange.BlobReport{Missing: 1}, blobsOf(s.b), "what can't be proved is not given")
	require.False(t, bob.hasBlob(id))
}

// A peer that sends other content than was asked for is cut off, and leaves nothing.
func TestForgedBlobsEndTheSession(t *testing.T) {
	nodes := begin(t, 1, "alice", "mallory")
	alice, mallory := nodes[0], nodes[1]
	closing(t, nodes...)
	var ids []codec.BlobID
	for i := range 4 {
		id := alice.blobOf(fmt.Sprint(i), 5000)
		alice.attach(contextOf(0), id)
		ids = append(ids, id)
	}
	level(t, alice, mallory, takingBlobs)
	for _, id := range ids {
		require.NoError(t, alice.Blobs.Delete(bg, id, false))
		var b engine.Batch
		engine.Put(&b, keys.BlobChunk{Blob: id}, codec.BlobChunk(bytes.Repeat([]byte("x"), 5000)))
		require.NoError(t, mallory.db.Apply(&b))
	}
	// Her daemon would not give what it can't prove: an application of hers has it be given.
	require.NoError(t, mallory.Contexts.SetApplication(contextOf(0), codec.ApplicationMeta{
		Bytecode: ids[0], Compiled: ids[1], Services: []codec.ServiceMeta{{Name: "s", Bytecode: ids[2], Compiled: ids[3]}},
	}))
	s := meet(t, alice, mallory, takingBlobs)
	require.ErrorIs(t, s.errA, exchange.ErrProtocol)
	for e, err := range alice.Blobs.All(bg, nil) {
		require.NoError(t, err)
		require.False(t, slices.Contains(ids, e.ID))
	}
	require.NotErrorIs(t, s.errB, dag.ErrNoContext)
}
