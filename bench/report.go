package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is what a run has measured.
type Report struct {
	Machine  Machine   `json:"machine"`
	Time     time.Time `json:"time"`
	Rows     int       `json:"rows"`
	Slice    string    `json:"slice"`
	Rounds   int       `json:"rounds"`
	Subjects []string  `json:"subjects"`
	Results  []Result  `json:"results"`
}

// Machine says where a report was made.
type Machine struct {
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	OS      string `json:"os"`
	Go      string `json:"go"`
	RocksDB string `json:"rocksdb"` // the version of the library; empty without cgo
	Commit  string `json:"commit"`
}

// Result is one workload.
type Result struct {
	Workload string    `json:"workload"`
	About    string    `json:"about"`
	Unit     string    `json:"unit"`
	Measures []Measure `json:"measures"`
}

// Measure is what one subject did in its turns at a workload. Times are
// nanoseconds per unit.
type Measure struct {
	Subject string  `json:"subject"`
	Wall    Spread  `json:"wall_ns"`
	CPU     Spread  `json:"cpu_ns"`
	Allocs  float64 `json:"allocs"`
	P50     float64 `json:"p50_ns"`
	P99     float64 `json:"p99_ns"`

	turns []turn
}

// Spread is the middle and the ends of the figures of several turns.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func newReport(o Options) *Report {
	return &Report{Machine: machine(), Time: time.Now().UTC().Truncate(time.Second), Rows: o.Rows, Slice: o.Slice.String(), Rounds: o.Rounds}
}

func machine() Machine {
	m := Machine{CPU: "unknown", Cores: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				m.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, s := range build.Settings {
			if s.Key == "vcs.revision" {
				m.Commit = s.Value
			}
		}
	}
	return m
}

// rocksVersion returns the version of the library that wrote the options in
// dir; empty if there are none.
func rocksVersion(dir string) string {
	files, err := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
	if err != nil || len(files) == 0 {
		return ""
	}
	text, err := os.ReadFile(files[len(files)-1])
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(text), "rocksdb_version=")
	version, _, _ := strings.Cut(after, "\n")
	return "RocksDB " + version
}

// sum works the figures of the turns out.
func (m *Measure) sum() {
	var wall, cpu, allocs []float64
	var latencies []time.Duration
	for _, t := range m.turns {
		wall, cpu, allocs = append(wall, t.WallNanos), append(cpu, t.CPUNanos), append(allocs, t.Allocs)
		latencies = append(latencies, t.latencies...)
	}
	m.Wall, m.CPU, m.Allocs = spreadOf(wall), spreadOf(cpu), spreadOf(allocs).Median
	m.P50, m.P99 = float64(quantile(latencies, 0.5)), float64(quantile(latencies, 0.99))
}

func spreadOf(f []float64) Spread {
	if len(f) == 0 {
		return Spread{}
	}
	s := slices.Clone(f)
	slices.Sort(s)
	middle := s[len(s)/2]
	if len(s)%2 == 0 {
		middle = (s[len(s)/2-1] + middle) / 2
	}
	return Spread{Median: middle, Min: s[0], Max: s[len(s)-1]}
}

// ratio returns the median, over the rounds, of what a took in a round to what
// b took in the same; 0 if one of them was not measured.
func ratio(a, b *Measure, figure func(turn) float64) float64 {
	if a == nil || b == nil || len(a.turns) == 0 || len(a.turns) != len(b.turns) {
		return 0
	}
	r := make([]float64, len(a.turns))
	for i := range r {
		r[i] = figure(a.turns[i]) / cmp.Or(figure(b.turns[i]), 1)
	}
	return spreadOf(r).Median
}

func (r *Result) measure(subject string) *Measure {
	for i := range r.Measures {
		if r.Measures[i].Subject == subject {
			return &r.Measures[i]
		}
	}
	return nil
}

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteText writes the report as a table, for people.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s, %d cores, %s, %s", r.Machine.CPU, r.Machine.Cores, r.Machine.OS, r.Machine.Go)
	if r.Machine.RocksDB != "" {
		fmt.Fprintf(w, ", %s", r.Machine.RocksDB)
	}
	fmt.Fprintf(w, "\n%d rows of %d + %d bytes; %d turns of %s each; medians (and least to most)\n\n", r.Rows, KeyBytes, ValueBytes, r.Rounds, r.Slice)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "workload\tsubject\twall µs\tspread\tcpu µs\tallocs\tp50 µs\tp99 µs\tcpu/grocksdb\twall/grocksdb\twall/rocks\tp50/redis\t")
	for i := range r.Results {
		res := &r.Results[i]
		for j := range res.Measures {
			m := &res.Measures[j]
			fmt.Fprintf(t, "%s\t%s\t%s\t%s–%s\t%s\t%.2f\t%s\t%s\t%s\t%s\t%s\t%s\t\n", res.Workload, m.Subject,
				micros(m.Wall.Median), micros(m.Wall.Min), micros(m.Wall.Max), micros(m.CPU.Median), m.Allocs, micros(m.P50), micros(m.P99),
				res.against(m, "grocksdb", cpuOf), res.against(m, "grocksdb", wallOf), res.against(m, "rocks-raw", wallOf), res.against(m, "redis", p50Of))
		}
		fmt.Fprintln(t, "\t\t\t\t\t\t\t\t\t\t\t\t")
	}
	return t.Flush()
}

func cpuOf(t turn) float64  { return t.CPUNanos }
func wallOf(t turn) float64 { return t.WallNanos }
func p50Of(t turn) float64  { return float64(quantile(t.latencies, 0.5)) }

func (r *Result) against(m *Measure, subject string, figure func(turn) float64) string {
	if q := ratio(m, r.measure(subject), figure); q > 0 && m.Subject != subject {
		return fmt.Sprintf("%.2f", q)
	}
	return "-"
}

func micros(ns float64) string {
	switch us := ns / 1e3; {
	case us < 10:
		return fmt.Sprintf("%.2f", us)
	case us < 100:
		return fmt.Sprintf("%.1f", us)
	default:
		return fmt.Sprintf("%.0f", us)
	}
}
