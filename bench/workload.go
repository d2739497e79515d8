package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// workload is what a subject is asked to do, again and again.
type workload struct {
	name    string
	about   string
	unit    string // what time is given per
	workers int
	shared  bool    // the workers share a connection
	rows    float64 // that a unit writes
	// do works once and returns how many units that was.
	do func(*worker) (int, error)
}

// worker is one goroutine of a workload.
type worker struct {
	Actor
	data *Dataset
	rand *rand.Rand
	rows []int
}

var workloads = []workload{
	{"get", "stored rows, warm cache", "get", 1, false, 0, func(w *worker) (int, error) {
		return 1, w.Get(w.data.any(w.rand))
	}},
	{"get-missing", "rows that are not stored", "get", 1, false, 0, func(w *worker) (int, error) {
		return 1, w.Miss(w.data.missing(w.rand))
	}},
	sharing(16), sharing(64),
	{"multiget-100", "100 stored rows in one call", "call", 1, false, 0, func(w *worker) (int, error) {
		for i := range w.rows {
			w.rows[i] = w.data.any(w.rand)
		}
		return 1, w.MultiGet(w.rows)
	}},
	{"scan-100", "100 entries in order, from any row on", "scan", 1, false, 0, func(w *worker) (int, error) {
		n, err := w.Scan(w.data.any(w.rand), scanEntries)
		if err == nil && (n == 0 || n > scanEntries) {
			err = fmt.Errorf("scan of %d returned %d entries", scanEntries, n)
		}
		return 1, err
	}},
	{"scan-all", "every entry in order", "entry", 1, false, 0, func(w *worker) (int, error) {
		n, err := w.Walk()
		if err == nil && n != w.data.Rows {
			err = fmt.Errorf("scan of all %d rows returned %d", w.data.Rows, n)
		}
		return n, err
	}},
	{"mixed-90", "nine gets to a put that is not synced, 16 callers on one connection", "call", 16, true, 0.1, func(w *worker) (int, error) {
		if w.rand.IntN(10) == 0 {
			return 1, w.Put(w.data.any(w.rand))
		}
		return 1, w.Get(w.data.any(w.rand))
	}},
	{"put", "one row, not synced", "put", 1, false, 1, func(w *worker) (int, error) {
		return 1, w.Put(w.data.any(w.rand))
	}},
	batches(batchSmall), batches(batchMiddle), batches(batchLarge),
	synced(1), synced(8), synced(64),
}

// typedWorkloads are those on the metadata of contexts: what a value of a type costs, beside its bytes.
var typedWorkloads = []workload{
	{"typed-get", "metadata of a context, as a value", "get", 1, false, 0, func(w *worker) (int, error) {
		return 1, w.typed().GetMeta(w.rand.IntN(Metas))
	}},
	{"typed-put", "metadata of a context, not synced", "put", 1, false, metaShare, func(w *worker) (int, error) {
		return 1, w.typed().WriteMeta(w.rand.IntN(Metas), 1)
	}},
	{"typed-batch-100", "metadata of 100 contexts at once, not synced", "entry", 1, false, metaShare, func(w *worker) (int, error) {
		return batchMiddle, w.typed().WriteMeta(w.rand.IntN(Metas-batchMiddle), batchMiddle)
	}},
	{"typed-scan-100", "metadata of 100 contexts in order, from any on", "scan", 1, false, 0, func(w *worker) (int, error) {
		n, err := w.typed().ScanMeta(w.rand.IntN(Metas), scanEntries)
		if err == nil && (n == 0 || n > scanEntries) {
			err = fmt.Errorf("scan of %d returned %d entries", scanEntries, n)
		}
		return 1, err
	}},
}

// metaShare is how many of the rows one row of metadata is, by bytes.
const metaShare = float64(32+344) / (KeyBytes + ValueBytes)

// typed returns the hands of a typed workload.
func (w *worker) typed() MetaActor { return w.Actor.(MetaActor) }

func (w *workload) typed() bool { return strings.HasPrefix(w.name, "typed-") }

func typedNames() (names []string) {
	for _, w := range typedWorkloads {
		names = append(names, w.name)
	}
	return names
}

func sharing(workers int) workload {
	return workload{fmt.Sprintf("get-%d", workers), fmt.Sprintf("stored rows, %d callers on one connection", workers), "get", workers, true, 0,
		func(w *worker) (int, error) { return 1, w.Get(w.data.any(w.rand)) }}
}

func batches(n int) workload {
	return workload{fmt.Sprintf("batch-%d", n), fmt.Sprintf("%d rows at once, not synced", n), "entry", 1, false, 1,
		func(w *worker) (int, error) { return n, w.Batch(w.rand.IntN(w.data.Rows-n), n) }}
}

func synced(workers int) workload {
	return workload{fmt.Sprintf("put-synced-%d", workers), fmt.Sprintf("one row, on disk when answered, %d at a time", workers), "put", workers, false, 1,
		func(w *worker) (int, error) { return 1, w.PutSynced(w.data.any(w.rand)) }}
}

// syncedNames are the names of the workloads that need a disk.
func syncedNames() (names []string) {
	for _, w := range workloads {
		if strings.HasPrefix(w.name, "put-synced") {
			names = append(names, w.name)
		}
	}
	return names
}

// WorkloadNames returns the names of the workloads in the order in which they
// run.
func WorkloadNames() []string {
	return slices.Concat(RowWorkloadNames(), typedNames(), dagNames(), govNames(), syncNames(), kvNames(), blobNames(), growNames())
}

// RowWorkloadNames returns the names of those that all subjects share, on the rows
// of the Dataset: those that only read first.
func RowWorkloadNames() []string {
	names := make([]string, len(workloads))
	for i, w := range workloads {
		names[i] = w.name
	}
	return names
}

// PeerWorkloadNames returns the names of those that are measured with Options.Peers,
// Options.KVPeers, Options.LockPeers and Options.BucketPeers.
func PeerWorkloadNames() []string { return slices.Concat(RowWorkloadNames(), kvNames()) }

// onRows reports whether any workload on the rows, or on what lies beside them, is wanted.
func onRows(names []string) bool {
	return slices.ContainsFunc(slices.Concat(workloads, typedWorkloads), func(w workload) bool { return wanted(names, w.name) })
}
