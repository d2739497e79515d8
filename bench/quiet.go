package bench

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
)

// quietShare is how much of the machine's processors others may take of a turn before its
// figures are said to be of a machine that is not quiet.
const quietShare = 0.05

// tick is what /proc/stat counts in: USER_HZ, which is 100 everywhere.
const tick = 10 * time.Millisecond

// busy returns for how long the processors of the machine were busy so far, all together, with
// what the hypervisor gave to other machines meanwhile; false where the system does not tell.
func busy() (time.Duration, bool) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	return parseBusy(text)
}

// parseBusy reads the first line of /proc/stat (proc_stat(5)): user, nice, system, idle, iowait,
// irq, softirq and steal; what comes after is in user already.
func parseBusy(text []byte) (time.Duration, bool) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) < 9 || string(fields[0]) != "cpu" {
		return 0, false
	}
	var sum time.Duration
	for _, i := range []int{1, 2, 3, 6, 7, 8} {
		n, err := strconv.ParseInt(string(fields[i]), 10, 64)
		if err != nil {
			return 0, false
		}
		sum += time.Duration(n) * tick
	}
	return sum, true
}

// others is the share of the machine's processors that others had while a turn took wall, in
// which they were busy for all, and the subject and who measures had own of that.
func others(all, own, wall time.Duration) float64 {
	rest := all - own
	if rest < 2*tick*time.Duration(runtime.NumCPU()) { // as little is not told from nothing
		return 0
	}
	return float64(rest) / float64(wall) / float64(runtime.NumCPU())
}

// noise is the largest share that others had of a turn of r, and in which.
func (r *Report) noise() (most float64, where string) {
	for i := range r.Results {
		for j := range r.Results[i].Measures {
			if m := &r.Results[i].Measures[j]; m.Others > most {
				most, where = m.Others, fmt.Sprintf("%s of %s", r.Results[i].Workload, m.Subject)
			}
		}
	}
	return most, where
}

// quiet says whether others had a share of what was measured.
func (r *Report) quiet() string {
	most, where := r.noise()
	switch {
	case most == 0:
		return ""
	case most <= quietShare:
		return fmt.Sprintf("others took at most %.0f %% of the processors in a turn", 100*most)
	}
	return fmt.Sprintf("NOT QUIET: others took up to %.0f %% of the processors in a turn (%s): read the cpu columns, and measure again", 100*most, where)
}
