package framed

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWorkersRunEveryJobAtOnceAndAreUsedAgain(t *testing.T) {
	w := newWorkers()
	const jobs = 3 * maxIdleWorkers
	var done atomic.Int64
	for range 3 {
		var begun, ended sync.WaitGroup
		begun.Add(jobs)
		ended.Add(jobs)
		release := make(chan struct{})
		for range jobs {
			w.run(func() {
				defer ended.Done()
				begun.Done()
				<-release
				done.Add(1)
			})
		}
		begun.Wait() // all are under way at once
		close(release)
		ended.Wait()
	}
	require.EqualValues(t, 3*jobs, done.Load())
	w.end() // and nobody is left: see TestMain
	require.LessOrEqual(t, w.idle, maxIdleWorkers)
}
