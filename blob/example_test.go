package blob_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

func Example() {
	db := mem.New()
	defer db.Close()
	blobs, err := blob.Open(db, blob.Options{})
	if err != nil {
		panic(err)
	}
	defer blobs.Close()
	if _, err := blobs.Sweep(context.Background()); err != nil { // what an earlier process broke off
		panic(err)
	}

	stored, existed, err := blobs.Put(context.Background(), strings.NewReader("hello"), blob.PutOptions{})
	fmt.Println(stored.ID, stored.Size, existed, err)
	_, existed, err = blobs.Put(context.Background(), strings.NewReader("hello"), blob.PutOptions{})
	fmt.Println("again:", existed, err)

	r, err := blobs.Read(stored.ID, 0, blob.ToTheEnd)
	if err != nil {
		panic(err)
	}
	defer r.Close()
	if _, err := io.Copy(os.Stdout, r); err != nil { // the hash is checked at the end
		panic(err)
	}
	// Output:
	// 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824 5 false <nil>
	// again: true <nil>
	// hello
}

// Content that is larger than a chunk comes with its id, or waits in a spool. What is
// not what its id says is not kept.
func ExampleStore_Put() {
	db := mem.New()
	defer db.Close()
	blobs, err := blob.Open(db, blob.Options{})
	if err != nil {
		panic(err)
	}
	content := bytes.Repeat([]byte("stoa"), 1<<20)
	id := codec.BlobID(sha256.Sum256(content))

	_, _, err = blobs.Put(context.Background(), bytes.NewReader(content), blob.PutOptions{})
	fmt.Println(errors.Is(err, engine.ErrUnsupported), "- there is no spool")
	stored, _, err := blobs.Put(context.Background(), bytes.NewReader(content), blob.PutOptions{ID: id})
	fmt.Println(stored.Chunks, "chunks", err)
	_, _, err = blobs.Put(context.Background(), strings.NewReader("other"), blob.PutOptions{ID: id})
	fmt.Println(errors.Is(err, blob.ErrMismatch))
	// Output:
	// true - there is no spool
	// 4 chunks <nil>
	// true
}

// A blob whose manifest is wrong is repaired from its chunks. One of which content is
// lost is made good by putting it again.
func ExampleStore_Verify() {
	db := mem.New()
	defer db.Close()
	blobs, err := blob.Open(db, blob.Options{})
	if err != nil {
		panic(err)
	}
	stored, _, err := blobs.Put(context.Background(), strings.NewReader("hello"), blob.PutOptions{})
	if err != nil {
		panic(err)
	}
	damage := func(damage func(*engine.Batch)) {
		var b engine.Batch
		damage(&b)
		if err := db.Apply(&b); err != nil {
			panic(err)
		}
	}
	verify := func() {
		_, err := blobs.Verify(context.Background(), blob.VerifyOptions{Repair: true}, func(d blob.Damage) error {
			fmt.Printf("%s: %s; repaired: %v, to be put again: %v\n", d.Faults[0].Code, d.Faults[0].Reason, d.Repaired, d.Remedy == blob.Upload)
			return nil
		})
		if err != nil {
			panic(err)
		}
	}
	damage(func(b *engine.Batch) { engine.Delete(b, keys.BlobMeta{Blob: stored.ID}) })
	verify()
	damage(func(b *engine.Batch) { engine.Delete(b, keys.BlobChunk{Blob: stored.ID}) })
	verify()
	again, _, err := blobs.Put(context.Background(), strings.NewReader("hello"), blob.PutOptions{})
	fmt.Println(again.Healed.Chunks, "chunk written anew", err)
	verify()
	// Output:
	// blob-manifest: the manifest is missing, and all of the content is there; repaired: true, to be put again: false
	// blob-chunk: chunk 0 of 1 is missing; repaired: false, to be put again: true
	// 1 chunk written anew <nil>
}

func ExampleStore_All() {
	db := mem.New()
	defer db.Close()
	blobs, err := blob.Open(db, blob.Options{})
	if err != nil {
		panic(err)
	}
	for _, content := range []string{"one", "three", ""} {
		if _, _, err := blobs.Put(context.Background(), strings.NewReader(content), blob.PutOptions{}); err != nil {
			panic(err)
		}
	}
	for b, err := range blobs.All(context.Background(), nil) {
		if err != nil {
			panic(err)
		}
		fmt.Println(b.ID.String()[:8], b.Size, b.Chunks)
	}
	// Output:
	// 7692c3ad 3 1
	// 8b5b9db0 5 1
	// e3b0c442 0 0
}
