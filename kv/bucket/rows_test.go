package bucket_test

import (
	"testing"

	"github.com/stoadb/stoa/kv/bucket/buckettest"
	"github.com/stoadb/stoa/kv/kvtest"
)

func TestEveryRowHasItsTest(t *testing.T) {
	kvtest.Rows(t, buckettest.Rows(), "*_test.go", "../../rpc/server/bucket_test.go")
}
