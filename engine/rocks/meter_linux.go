package rocks

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// meter tells what a thread of this process has done so far.
type meter struct{ dir string }

func meterOfThisThread() meter { return meter{fmt.Sprintf("/proc/self/task/%d", unix.Gettid())} }

// clockTick is the unit of times in /proc.
const clockTick = time.Second / 100

// read returns the processor time that the thread has used, and how many bytes it has
// read and written. It is not ok where the system does not say.
func (m meter) read() (used time.Duration, moved uint64, ok bool) {
	stat, err := os.ReadFile(m.dir + "/stat")
	if err != nil {
		return 0, 0, false
	}
	// The second field, the name, may hold anything; utime and stime are the 14th and
	// the 15th.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, 0, false
	}
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, 0, false
		}
		used += time.Duration(ticks) * clockTick
	}
	counts, err := os.ReadFile(m.dir + "/io")
	if err != nil {
		return 0, 0, false
	}
	var read, written uint64
	if _, err := fmt.Sscanf(string(counts), "rchar: %d\nwchar: %d\n", &read, &written); err != nil {
		return 0, 0, false
	}
	return used, read + written, true
}
