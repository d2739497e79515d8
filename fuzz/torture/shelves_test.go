package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/rpc"
)

// shelves changes a few keys of a bucket that keeps some revisions of each: every change has the
// next revision of the bucket, a change at a revision is made exactly if the key is at it, and
// what is kept of a key is its newest revisions.
type shelves struct {
	tenant string
	rand   *rand.Rand
	made   bool

	has, under shelf // under: what there is after the call under way
	called     bool
}

const (
	shelvesBucket  = "shelves"
	shelvesHistory = 3
	shelvesKeys    = 6
)

// shelf is what a bucket has.
type shelf struct {
	revision uint64
	keys     [shelvesKeys]string // the revisions that are kept, oldest first, each as told says
}

func newShelves(r *rand.Rand, id byte) worker {
	return &shelves{tenant: fmt.Sprint("shelves", id), rand: r}
}

func shelfKey(n int) string { return fmt.Sprint("shelf.", n) }

// revisionOf is a revision of a key as a shelf has it.
func revisionOf(revision uint64, op bucket.Op, value string) string {
	return fmt.Sprintf("%d %s %s;", revision, op, value)
}

// put returns the shelf after a change.
func (s shelf) put(n int, op bucket.Op, value string) shelf {
	s.revision++
	list := append(s.list(n), revisionOf(s.revision, op, value))
	if op == bucket.OpPurge {
		list = list[len(list)-1:]
	}
	s.keys[n] = ""
	for _, r := range list[max(len(list)-shelvesHistory, 0):] {
		s.keys[n] += r
	}
	return s
}

// list is the revisions of a key.
func (s shelf) list(n int) (list []string) {
	for from, i := 0, 0; i < len(s.keys[n]); i++ {
		if s.keys[n][i] == ';' {
			list, from = append(list, s.keys[n][from:i+1]), i+1
		}
	}
	return list
}

// at is the revision that a key is at, and whether it has a value; 0: nothing is kept of it.
func (s shelf) at(n int) (revision uint64, value bool) {
	list := s.list(n)
	if len(list) == 0 {
		return 0, false
	}
	op := ""
	if _, err := fmt.Sscan(list[len(list)-1], &revision, &op); err != nil {
		panic(err)
	}
	return revision, op == bucket.OpPut.String()
}

func (w *shelves) use(c *rpc.Client) error {
	if !w.made {
		_, err := c.Buckets(w.tenant).Create(context.Background(), rpc.BucketConfig{Name: shelvesBucket, History: shelvesHistory})
		if errors.Is(err, bucket.ErrExists) { // the answer was lost
			err = nil
		}
		w.made = err == nil
		return err
	}
	b, n := c.Buckets(w.tenant).Bucket(shelvesBucket), w.rand.IntN(shelvesKeys)
	if w.rand.IntN(3) == 0 {
		if err := w.refused(b, n); err != nil {
			return err
		}
	}
	at, there := w.has.at(n)
	value, op := fmt.Sprint(w.rand.Uint64()), bucket.OpPut
	k := w.rand.IntN(6)
	switch k {
	case 4:
		op, value = bucket.OpDelete, ""
	case 5:
		op, value = bucket.OpPurge, ""
	}
	w.under, w.called = w.has.put(n, op, value), true
	var revision uint64
	var err error
	switch {
	case op == bucket.OpDelete:
		revision, err = b.Delete(context.Background(), shelfKey(n), rpc.BucketDeleteOptions{Expect: w.rand.IntN(2) == 0, Revision: at})
	case op == bucket.OpPurge:
		revision, err = b.Purge(context.Background(), shelfKey(n), rpc.BucketDeleteOptions{Expect: w.rand.IntN(2) == 0, Revision: at})
	case k == 0 && !there:
		revision, err = b.Create(context.Background(), shelfKey(n), []byte(value), rpc.BucketPutOptions{})
	case k <= 1:
		revision, err = b.Update(context.Background(), shelfKey(n), []byte(value), at, rpc.BucketPutOptions{})
	default:
		revision, err = b.Put(context.Background(), shelfKey(n), []byte(value), rpc.BucketPutOptions{})
	}
	if errors.Is(err, bucket.ErrRevisionMismatch) || errors.Is(err, bucket.ErrExists) {
		return wrongf("%s, which is at %d, was not changed as if it were at another revision: %s", shelfKey(n), at, err)
	}
	if err != nil {
		return err
	}
	if revision != w.under.revision {
		return wrongf("%s was changed at revision %d, after %d", shelfKey(n), revision, w.has.revision)
	}
	w.has, w.called = w.under, false
	return nil
}

// refused asks for a change at a revision that a key is not at, and makes one that has a value.
func (w *shelves) refused(b *rpc.Bucket, n int) error {
	at, there := w.has.at(n)
	_, err := b.Update(context.Background(), shelfKey(n), []byte("never"), at+1, rpc.BucketPutOptions{})
	if err == nil {
		return wrongf("%s, which is at %d, was updated at %d", shelfKey(n), at, at+1)
	}
	if !errors.Is(err, bucket.ErrRevisionMismatch) || !there {
		return ignore(err, bucket.ErrRevisionMismatch)
	}
	if _, err = b.Create(context.Background(), shelfKey(n), []byte("never"), rpc.BucketPutOptions{}); err == nil {
		return wrongf("%s, which has a value of revision %d, was created", shelfKey(n), at)
	}
	return ignore(err, bucket.ErrExists)
}

// ignore returns an error unless it is the one that is expected.
func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

func (w *shelves) recount(c *rpc.Client) error {
	if !w.made {
		return nil
	}
	b := c.Buckets(w.tenant).Bucket(shelvesBucket)
	status, err := b.Status(context.Background())
	if err != nil {
		return err
	}
	found, values := shelf{revision: status.Revision}, 0
	for n := range found.keys {
		history, err := b.History(context.Background(), shelfKey(n))
		if err != nil {
			return err
		}
		for _, e := range history {
			found.keys[n] += revisionOf(e.Revision, e.Op, string(e.Value))
		}
		if _, there := found.at(n); there {
			values++
		}
	}
	if found != w.has && !(w.called && found == w.under) {
		return wrongf("there is %v; acknowledged was %v, and under way what makes it %v", found, w.has, w.under)
	}
	w.has, w.called = found, false
	var keys []string
	for key, err := range b.Keys(context.Background()) {
		if err != nil {
			return err
		}
		keys = append(keys, key)
	}
	if len(keys) != values || !slices.IsSorted(keys) {
		return wrongf("the keys with a value are %v; the shelf is %v", keys, found)
	}
	return nil
}
