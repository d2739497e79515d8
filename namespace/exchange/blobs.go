package exchange

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/codec/cutter"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace"
)

// Limits of what is exchanged of blobs.
const (
	maxLacks   = 1 << 16   // that are asked for; the others are in the next session
	lackBytes  = 32 + 8    // of one
	pieceBytes = 256 << 10 // of content in a message
)

// lack is a blob that a side has not, and of which it has read where it is named.
type lack struct {
	of    *shared
	owner codec.Hash // the context, or the group, that names it
	id    codec.BlobID
	from  uint64 // bytes that it has
	most  uint64 // the largest that it takes
}

// blobs exchanges the blobs that are named by contexts, and by applications of groups, that both may read.
func (s *session) blobs() error {
	for _, n := range s.common {
		if n.contexts == nil {
			if err := s.readable(n); err != nil {
				return err
			}
		}
	}
	own, err := s.lacking()
	if err != nil {
		return err
	}
	asked, err := s.askBlobs(own)
	if err != nil || len(own)+len(asked) == 0 {
		return err
	}
	if err := s.pieces(own, asked); err != nil {
		return err
	}
	// Nobody hangs up on one that is still taking in.
	return s.turn(func(func(kind, []byte) error) error { return nil }, nil)
}

// lacking returns the blobs that are named here, and are not here.
func (s *session) lacking() (all []lack, err error) {
	if s.o.Blobs == 0 || s.Blobs == nil {
		return nil, nil
	}
	for _, n := range s.common {
		found := map[codec.BlobID]bool{} // those that were looked for, and whether they are to be asked for
		owned := func(owner codec.Hash, ids []codec.BlobID) error {
			for _, id := range ids {
				lacks, known := found[id]
				if !known {
					_, err := s.Blobs.Stat(id)
					lacks = errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrCorrupt) // which is healed
					if err != nil && !lacks {
						return err
					}
					found[id] = lacks
				}
				if lacks && len(all) < maxLacks {
					all = append(all, lack{n, owner, id, s.Blobs.Kept(id), s.o.Blobs})
				}
			}
			return nil
		}
		for _, g := range n.groups {
			ids, key, err := s.namedByGroup(g)
			if err == nil && !key.IsZero() {
				ids = append(ids, codec.BlobID(key))
			}
			if err == nil {
				err = owned(codec.Hash(g), ids)
			}
			if err != nil {
				return nil, err
			}
		}
		for _, c := range slices.SortedFunc(maps.Keys(n.contexts), codec.CompareID) {
			ids, err := s.namedByContext(c)
			for e, failed := range s.Contexts.ScanState(s.ctx, c, blob.AttachedRange()) {
				if err = errors.Join(err, failed); err != nil {
					break
				}
				if id, ok := blob.Attached(e.AppKey); ok {
					ids = append(ids, id)
				}
			}
			if err == nil {
				err = owned(codec.Hash(c), ids)
			}
			if err != nil && !errors.Is(err, dag.ErrNoContext) && !errors.Is(err, dag.ErrAdopting) {
				return nil, err
			}
		}
		for _, lacks := range found {
			n.lacks += int(flag(lacks))
		}
	}
	return all, nil
}

// namedByGroup returns the blobs that the application of a group names here, and the key of the
// application, which may be the id of its code.
func (s *session) namedByGroup(g codec.GroupID) ([]codec.BlobID, codec.Hash, error) {
	info, err := s.Governance.Show(g)
	if errors.Is(err, namespace.ErrNoGroup) {
		return nil, codec.Hash{}, nil
	}
	if err != nil {
		return nil, codec.Hash{}, err
	}
	ids, err := s.Blobs.NamedBy(info.Meta.TargetApplicationID)
	return ids, info.Meta.AppKey, err
}

// namedByContext returns the blobs that the application of a context names here.
func (s *session) namedByContext(c codec.ContextID) (ids []codec.BlobID, err error) {
	info, err := s.Contexts.Context(c)
	return slices.Collect(blob.Named(&info.Application)), err
}

// askBlobs says what is lacking here, and returns what is there.
func (s *session) askBlobs(own []lack) (asked []lack, err error) {
	err = s.turn(func(put func(kind, []byte) error) error {
		for i := 0; i < len(own); {
			l, same := own[i], i+1
			for same < len(own) && own[same].of == l.of && own[same].owner == l.owner {
				same++
			}
			b := binary.LittleEndian.AppendUint32(nil, uint32(slices.Index(s.common, l.of)))
			b = binary.LittleEndian.AppendUint64(append(b, l.owner[:]...), l.most)
			b = binary.LittleEndian.AppendUint32(b, uint32(same-i))
			for _, one := range own[i:same] {
				b = binary.LittleEndian.AppendUint64(append(b, one.id[:]...), one.from)
			}
			if err := put(kindLack, b); err != nil {
				return err
			}
			i = same
		}
		return nil
	}, func(_ kind, body []byte) error {
		c := cutter.New("lack", body)
		number, owner, most := int(c.U32("namespace")), c.Hash("owner"), c.U64("most")
		n := c.Count("blobs", lackBytes)
		if c.Err == nil && (number >= len(s.common) || n == 0 || len(asked)+n > maxLacks) {
			return malformed("%d blobs that it lacks, after %d, of namespace %d", n, len(asked), number)
		}
		for range n {
			asked = append(asked, lack{s.common[number], owner, codec.BlobID(c.Hash("blob")), c.U64("from"), most})
		}
		return ended(&c)
	}, kindLack)
	return asked, err
}

// pieces sends what the peer lacks, and takes in what is lacking here.
func (s *session) pieces(own, asked []lack) error {
	in := arriving{session: s, own: own}
	err := s.turn(func(put func(kind, []byte) error) error {
		if s.Blobs == nil {
			return nil
		}
		g := giving{session: s, named: map[codec.Hash][]codec.BlobID{}, sent: map[codec.BlobID]bool{}}
		for i := range asked {
			select {
			case <-s.dead: // whoever has asked is gone
				return s.why
			default:
			}
			if err := g.give(uint32(i), &asked[i], put); err != nil {
				return err
			}
		}
		return nil
	}, in.take, kindPiece)
	if ended := in.end(); err == nil {
		err = ended
	}
	for _, l := range asked {
		l.of.report.Blobs.Sent += l.of.sent
		l.of.sent = 0
	}
	for _, n := range s.common {
		n.report.Blobs.Missing = n.lacks - n.report.Blobs.Stored - n.report.Blobs.Large
	}
	return err
}

// giving sends what the peer lacks.
type giving struct {
	*session
	named map[codec.Hash][]codec.BlobID // by applications, of contexts and groups
	sent  map[codec.BlobID]bool
}

// may reports whether the peer may have a blob: it is named, here, by what it may read.
func (g *giving) may(l *lack) (bool, error) {
	_, reads := l.of.contexts[codec.ContextID(l.owner)]
	grouped := slices.Contains(l.of.groups, codec.GroupID(l.owner))
	if !reads && !grouped {
		return false, nil
	}
	named, known := g.named[l.owner]
	if !known {
		if grouped {
			ids, _, err := g.namedByGroup(codec.GroupID(l.owner))
			if err != nil {
				return false, err
			}
			named = ids
		}
		if reads {
			ids, err := g.namedByContext(codec.ContextID(l.owner))
			if err != nil && !errors.Is(err, dag.ErrNoContext) {
				return false, err
			}
			named = append(named, ids...)
		}
		g.named[l.owner] = named
	}
	if slices.Contains(named, l.id) {
		return true, nil
	}
	if !reads {
		return false, nil
	}
	value, err := g.Contexts.Value(codec.ContextID(l.owner), blob.AttachedKey(l.id))
	if errors.Is(err, engine.ErrNotFound) || errors.Is(err, dag.ErrAdopting) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	a, err := g.Blobs.Attachment(g.ctx, codec.ContextID(l.owner), l.id)
	return err == nil && bytes.Equal(a.Value, value), unless(err)
}

// unless returns err, but for one that says that a blob is not there, as it should be.
func unless(err error) error {
	if errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrCorrupt) || errors.Is(err, blob.ErrOffset) {
		return nil
	}
	return err
}

// give sends a blob from where the peer has it, if it may have it; of one that is too large for it only
// how large it is.
func (g *giving) give(number uint32, l *lack, put func(kind, []byte) error) error {
	if _, err := g.Blobs.Stat(l.id); err != nil || g.sent[l.id] {
		return unless(err)
	}
	if ok, err := g.may(l); err != nil || !ok {
		return err
	}
	d, err := g.Blobs.Read(l.id, l.from, blob.ToTheEnd)
	if err != nil {
		return unless(err)
	}
	defer d.Close()
	g.sent[l.id] = true
	size := d.Info().Size
	head := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, number), size)
	if size > l.most {
		return put(kindPiece, head)
	}
	for at := l.from; ; {
		content, err := d.Next(pieceBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			return unless(err) // the peer keeps what is good of it
		}
		if err == nil || size == l.from {
			if err := put(kindPiece, slices.Concat(head, content)); err != nil {
				return err
			}
		}
		if at += uint64(len(content)); at == size {
			l.of.sent++
			return nil
		}
	}
}

// arriving takes in what is lacking here.
type arriving struct {
	*session
	own  []lack
	next int // of own, that may come

	now  *lack // is coming; nil: nothing is
	size uint64
	at   uint64
	to   *io.PipeWriter
	done chan error // of what takes it in
}

// errUnfinished is why content ends before it should.
var errUnfinished = errors.New("sync: the peer has sent only a part of the blob")

// take takes in a piece.
func (in *arriving) take(_ kind, body []byte) error {
	c := cutter.New("piece", body)
	number, size := int(c.U32("number")), c.U64("size")
	content := c.Rest
	if c.Err != nil {
		return ended(&c)
	}
	if in.now == nil || number != in.next-1 {
		if err := in.end(); err != nil {
			return err
		}
		if number < in.next || number >= len(in.own) {
			return malformed("a piece of blob %d, of %d, or out of order", number, len(in.own))
		}
		in.next = number + 1
		l := &in.own[number]
		if size > l.most && len(content) == 0 {
			l.of.report.Blobs.Large++
			return nil
		}
		if size < l.from || size > l.most {
			return malformed("a blob of %d bytes, where it was asked for what follows %d, up to %d", size, l.from, l.most)
		}
		in.begin(l, size)
	}
	in.at += uint64(len(content))
	if size != in.size || in.at > in.size || len(content) == 0 && in.at < in.size || len(content) > pieceBytes {
		return malformed("a piece of %d bytes, up to %d, of a blob of %d", len(content), in.at, size)
	}
	_, _ = in.to.Write(content) // where it is not taken in any more, whoever did says why
	if in.at == in.size {
		return in.end()
	}
	return nil
}

// begin has a blob be taken in.
func (in *arriving) begin(l *lack, size uint64) {
	in.now, in.size, in.at, in.done = l, size, l.from, make(chan error, 1)
	from, to := io.Pipe()
	in.to = to
	go func() {
		_, _, err := in.Blobs.Put(in.ctx, from, blob.PutOptions{ID: l.id, Size: &size, Keep: true, From: l.from})
		_ = from.CloseWithError(errUnfinished)
		in.done <- err
	}()
}

// end ends what is coming, wherever it is.
func (in *arriving) end() error {
	if in.now == nil {
		return nil
	}
	l := in.now
	in.now = nil
	if in.at < in.size {
		_ = in.to.CloseWithError(errUnfinished)
	} else {
		_ = in.to.Close()
	}
	err := <-in.done
	switch {
	case err == nil:
		l.of.report.Blobs.Stored++
	case errors.Is(err, blob.ErrMismatch):
		in.forged++
		return in.bears(0, 0)
	case errors.Is(err, errUnfinished), errors.Is(err, engine.ErrConflict):
		// what came is kept, or somebody else has gone on with it
	default:
		return fmt.Errorf("sync: blob %s: %w", l.id, err)
	}
	return nil
}
