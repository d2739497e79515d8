package server

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/buckettest"
	"github.com/stoadb/stoa/rpc"
)

// The rows of buckets hold over the socket as they do in process.
func TestBucketRows(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		inFullOnce(t, f)
		buckettest.Run(t, func(t testing.TB, h *buckettest.Host) (buckettest.Buckets, func()) {
			d := start(t, keptOpen{h.DB}, Options{Buckets: h.Store})
			return remoteBuckets{d.dialAs(t, f).Buckets("t")}, d.stop
		})
	})
}

// Each row that kv/bucket lists has a test that runs over the socket.
func TestEveryRowOfBucketsIsTestedOverTheSocket(t *testing.T) {
	readme, err := os.ReadFile("../../kv/bucket/README.md")
	require.NoError(t, err)
	own, err := os.ReadFile("bucket_test.go")
	require.NoError(t, err)
	var tested []string
	names := buckettest.Rows()
	for _, m := range regexp.MustCompile(`func Test(T\d\w+)`).FindAllStringSubmatch(string(own), -1) {
		names = append(names, m[1])
	}
	for _, name := range names {
		tested = append(tested, regexp.MustCompile(`T\d+`).FindAllString(regexp.MustCompile(`^(T\d+)+`).FindString(name), -1)...)
	}
	rows := regexp.MustCompile(`(?m)^\| (T\d+) \|`).FindAllStringSubmatch(string(readme), -1)
	require.Len(t, rows, 62)
	for _, row := range rows {
		require.Contains(t, tested, row[1])
	}
}

// remoteBuckets are the buckets of a client as those of a store.
type remoteBuckets struct{ *rpc.Buckets }

func (r remoteBuckets) Named(n bucket.Name) buckettest.Bucket {
	of := r.Buckets
	if n.Service != "" {
		of = of.Service(n.Service)
	}
	if n.Alias != "" {
		return of.Alias(n.Alias)
	}
	return of.Bucket(n.Bucket)
}
