//go:build cgo

package bench

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/rpc"
)

// The shape of the blobs that are measured.
const (
	blobBytes = 16 << 20
	blobsHeld = 4 // stored ones, which are read
)

// blobPeer keeps contents under their SHA-256.
type blobPeer struct {
	name      string
	elsewhere func() (time.Duration, error) // Subject.Elsewhere
	put       func(content []byte) error
	get       func(id codec.BlobID) error // of a content that was put
	close     func() error
}

// blobWorkload measures the Blob service of a daemon beside files and Redis.
type blobWorkload struct {
	name, about string
	reads       bool
}

var blobWorkloads = []blobWorkload{
	{"blob-put", "contents of 16 MiB under their SHA-256, on disk when answered, each another", false},
	{"blob-get", "stored contents of 16 MiB, checked against their SHA-256, but not those of Redis", true},
}

// blobNames returns the names of the workloads of blobs.
func blobNames() (names []string) {
	for _, w := range blobWorkloads {
		names = append(names, w.name)
	}
	return names
}

// measureBlobs runs the workloads of blobs that are wanted.
func measureBlobs(o Options) (results []Result, err error) {
	var peers []blobPeer
	defer func() {
		for _, p := range peers {
			err = errors.Join(err, p.close())
		}
	}()
	for _, w := range blobWorkloads {
		if !wanted(o.Workloads, w.name) {
			continue
		}
		if o.Stoa == "" {
			o.Logger.Warn("no path of a stoa binary: blobs are not measured")
			return nil, nil
		}
		if peers == nil {
			if peers, err = openBlobs(o); err != nil {
				return results, fmt.Errorf("bench: %s: %w", w.name, err)
			}
		}
		o.Logger.Info("measuring", "workload", w.name)
		result, err := w.measure(o, peers)
		if err != nil {
			return results, fmt.Errorf("bench: %s: %w", w.name, err)
		}
		results = append(results, result)
	}
	return results, nil
}

// measure lets the peers take turns, and notes how they compare with the daemon.
func (w blobWorkload) measure(o Options, peers []blobPeer) (Result, error) {
	result := Result{Workload: w.name, About: w.about, Unit: "MiB"}
	var crews []*crew
	for i, p := range peers {
		content, next := make([]byte, blobBytes), uint64(i+1)<<32
		do := func() (int, error) {
			next++
			return blobBytes >> 20, p.put(numbered(content, next))
		}
		if w.reads {
			var held [blobsHeld]codec.BlobID
			for n := range held {
				held[n] = sha256.Sum256(numbered(content, uint64(n)))
				if err := p.put(content); err != nil {
					return result, fmt.Errorf("%s: %w", p.name, err)
				}
			}
			do = func() (int, error) {
				next++
				return blobBytes >> 20, p.get(held[next%blobsHeld])
			}
		}
		crews = append(crews, &crew{name: p.name, elsewhere: p.elsewhere, release: func() {}, hands: []func() (int, error){do}})
	}
	result, err := takeTurns(o, result, crews)
	for _, p := range peers[1:] {
		result.rate(peers[0].name, p.name, "")
	}
	return result, err
}

// numbered makes content that of a number, cheaply: it is made while it is measured.
// Every other eight bytes are random, so that it does not deflate to nothing.
func numbered(content []byte, n uint64) []byte {
	if binary.LittleEndian.Uint64(content[8:]) == 0 {
		x := uint64(1)
		for at := 8; at < len(content); at += 16 {
			x = spread(x)
			binary.LittleEndian.PutUint64(content[at:], x)
		}
	}
	binary.LittleEndian.PutUint64(content, n+1)
	return content
}

// openBlobs opens the daemon, which is the first, and the others.
func openBlobs(o Options) (peers []blobPeer, err error) {
	d, err := serve(o, o.path("blobs"), cacheBytes/8)
	if err != nil {
		return nil, err
	}
	client, err := rpc.Dial(context.Background(), d.socket)
	if err != nil {
		return nil, errors.Join(err, d.process.stop())
	}
	peers = append(peers, blobPeer{
		name: "rpc-grpc", elsewhere: d.process.cpu,
		put: func(content []byte) error { // the daemon is told the hash, and writes the content once
			_, _, err := client.BlobPut(ctx, bytes.NewReader(content), rpc.BlobPutOptions{ID: sha256.Sum256(content), Size: blobBytes})
			return err
		},
		get: func(id codec.BlobID) error {
			_, err := client.BlobGet(ctx, id, io.Discard, rpc.BlobGetOptions{})
			return err
		},
		close: func() error { return errors.Join(client.Close(), d.process.stop()) },
	})
	files := blobFiles(o.path("blob-files"))
	if err := os.Mkdir(string(files), 0o700); err != nil {
		return peers, err
	}
	peers = append(peers, blobPeer{name: "file", put: files.put, get: files.get, close: func() error { return nil }})
	servers, err := openRedisKV(o) // none where it is not installed
	for _, s := range servers {
		c, err := s.Client()
		if err != nil {
			return peers, errors.Join(err, s.Close())
		}
		peers = append(peers, blobPeer{
			name: s.Name, elsewhere: s.Elsewhere,
			put: func(content []byte) error { return c.Put(codec.BlobID(sha256.Sum256(content)).String(), content) },
			get: func(id codec.BlobID) error {
				size, found, err := c.Get(id.String())
				return expect(found && size == blobBytes, err)
			},
			close: func() error { return errors.Join(c.Release(), s.Close()) },
		})
	}
	return peers, err
}

// blobFiles is what one would write by hand: a directory with a file for each content,
// under another name until it is on disk.
type blobFiles string

func (b blobFiles) put(content []byte) error {
	path := b.path(sha256.Sum256(content))
	f, err := os.Create(path + ".part")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(string(b))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (b blobFiles) get(id codec.BlobID) error {
	f, err := os.Open(b.path(id))
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return expect(codec.BlobID(sum.Sum(nil)) == id, err)
}

func (b blobFiles) path(id codec.BlobID) string { return filepath.Join(string(b), id.String()) }
