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
	Sizes    []Size    `json:"sizes,omitempty"`
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
	// Load is how many processes wanted to run on average in the minute before,
	// where the system tells: over the number of cores, others had a share.
	Load float64 `json:"load"`
}

// Size is what a subject takes once it has all rows and has read them, in bytes.
type Size struct {
	Subject string `json:"subject"`
	Memory  int64  `json:"memory,omitempty"` // of its process, and that no file backs; 0: it works in the process that measures
	Disk    int64  `json:"disk,omitempty"`   // 0: it keeps nothing there
}

// sizesOf returns the sizes of those that have any.
func sizesOf(subjects []*Subject) (sizes []Size, err error) {
	for _, s := range subjects {
		size := Size{Subject: s.Name}
		if s.Server != 0 {
			if size.Memory, err = residentOf(s.Server); err != nil {
				return sizes, err
			}
		}
		if s.Dir != "" {
			if size.Disk, err = bytesOnDisk(s.Dir); err != nil {
				return sizes, fmt.Errorf("bench: how much %s takes: %w", s.Name, err)
			}
		}
		if size.Memory+size.Disk > 0 {
			sizes = append(sizes, size)
		}
	}
	return sizes, nil
}

// Result is one workload.
type Result struct {
	Workload string    `json:"workload"`
	About    string    `json:"about"`
	Unit     string    `json:"unit"`
	Measures []Measure `json:"measures"`
	Figures  []Figure  `json:"figures,omitempty"`
	Curves   []Curve   `json:"curves,omitempty"`
}

// Curve is how something of a subject grows with the rows of its store.
type Curve struct {
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Subject string  `json:"subject"`
	Points  []Point `json:"points"`
}

// Point is a figure at so many rows.
type Point struct {
	Rows  int     `json:"rows"`
	Value float64 `json:"value"`
}

// Figure is a single figure of a workload, such as a ratio of two subjects or a
// count.
type Figure struct {
	Name     string  `json:"name"`
	Value    float64 `json:"value"`
	Unit     string  `json:"unit,omitempty"`     // empty: a ratio or a count
	Demanded string  `json:"demanded,omitempty"` // what it should be; empty: nothing is demanded
}

// String is the figure on a line, for people.
func (f Figure) String() string {
	s := fmt.Sprintf("%s: %.4g", f.Name, f.Value)
	if f.Unit != "" {
		s += " " + f.Unit
	}
	if f.Demanded != "" {
		s += " (demanded: " + f.Demanded + ")"
	}
	return s
}

// Measure is what one subject did in its turns at a workload. Times are
// nanoseconds per unit.
type Measure struct {
	Subject string  `json:"subject"`
	Wall    Spread  `json:"wall_ns"`
	CPU     Spread  `json:"cpu_ns"`
	Served  float64 `json:"served_cpu_ns,omitempty"` // the part of CPU that another process has used, as a daemon does
	Allocs  float64 `json:"allocs"`
	P50     float64 `json:"p50_ns"`
	P99     float64 `json:"p99_ns"`
	Others  float64 `json:"others,omitempty"`  // the most of the machine's processors that others had in a turn, as a share
	Written float64 `json:"written,omitempty"` // bytes to the disk for each of the rows': write amplification

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
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(load), &m.Load) // 0 if it is not what it should be
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
	var wall, cpu, served, allocs, written []float64
	var latencies []time.Duration
	for _, t := range m.turns {
		wall, cpu, allocs = append(wall, t.WallNanos), append(cpu, t.CPUNanos), append(allocs, t.Allocs)
		served, written = append(served, t.Elsewhere), append(written, t.Written)
		latencies = append(latencies, t.latencies...)
		m.Others = max(m.Others, t.Others)
	}
	m.Wall, m.CPU, m.Allocs = spreadOf(wall), spreadOf(cpu), spreadOf(allocs).Median
	m.Served, m.Written = spreadOf(served).Median, spreadOf(written).Median
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

// besideRust notes what an engine takes of the CPU of the typed store in Rust, where that was measured.
func (r *Result) besideRust() {
	for _, subject := range []string{"rocks", "rocks-rows"} {
		if of := ratio(r.measure(subject), r.measure("rust"), cpuOf); of > 0 {
			r.Figures = append(r.Figures, Figure{Name: "CPU of " + subject + " beside rust", Value: of, Demanded: "at most 1"})
		}
	}
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
	if r.Machine.Load > 0 {
		fmt.Fprintf(w, ", load %.1f before", r.Machine.Load)
	}
	fmt.Fprintf(w, "\n%d rows of %d + %d bytes; %d turns of %s each; medians (and least to most)\n", r.Rows, KeyBytes, ValueBytes, r.Rounds, r.Slice)
	if quiet := r.quiet(); quiet != "" {
		fmt.Fprintln(w, quiet)
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "workload\tsubject\tcpu µs\tspread\twall µs\tspread\tallocs\twritten\tp50 µs\tp99 µs\tcpu/grocksdb\tcpu/rocks\tcpu/redis\twall/grocksdb\twall/rocks\twall/redis\tp50/redis\t")
	for i := range r.Results {
		res := &r.Results[i]
		for j := range res.Measures {
			m := &res.Measures[j]
			fmt.Fprintf(t, "%s\t%s\t%s\t%s–%s\t%s\t%s–%s\t%.2f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", res.Workload, m.Subject,
				micros(m.CPU.Median), micros(m.CPU.Min), micros(m.CPU.Max), micros(m.Wall.Median), micros(m.Wall.Min), micros(m.Wall.Max), m.Allocs, amplification(m.Written), micros(m.P50), micros(m.P99),
				res.against(m, "grocksdb", cpuOf), res.against(m, "rocks-raw", cpuOf), res.against(m, "redis", cpuOf), res.against(m, "grocksdb", wallOf), res.against(m, "rocks-raw", wallOf), res.against(m, "redis", wallOf), res.against(m, "redis", p50Of))
		}
		fmt.Fprintln(t, strings.Repeat("\t", 17))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := r.writeSizes(w); err != nil {
		return err
	}
	for i := range r.Results {
		if err := r.Results[i].writeCurves(w); err != nil {
			return err
		}
		for _, f := range r.Results[i].Figures {
			if _, err := fmt.Fprintf(w, "%s: %s\n", r.Results[i].Workload, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeSizes writes the table of what the subjects take.
func (r *Report) writeSizes(w io.Writer) error {
	if len(r.Sizes) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "with all rows\tmemory MiB\tdisk MiB\tdisk/rows\t")
	for _, s := range r.Sizes {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t\n", s.Subject, mebibytes(s.Memory), mebibytes(s.Disk),
			amplification(float64(s.Disk)/float64(r.Rows*(KeyBytes+ValueBytes))))
	}
	fmt.Fprintln(t, "\t\t\t\t")
	return t.Flush()
}

func mebibytes(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(n)/(1<<20))
}

func amplification(f float64) string {
	if f == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", f)
}

// writeCurves writes a table with a line for each curve.
func (r *Result) writeCurves(w io.Writer) error {
	if len(r.Curves) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%s, by rows\tsubject\tunit\t", r.Workload)
	for _, p := range r.Curves[0].Points {
		fmt.Fprintf(t, "%d\t", p.Rows)
	}
	for _, c := range r.Curves {
		fmt.Fprintf(t, "\n%s\t%s\t%s\t", c.Name, c.Subject, c.Unit)
		for _, p := range c.Points {
			fmt.Fprintf(t, "%.4g\t", p.Value)
		}
	}
	fmt.Fprintln(t)
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

// quietShare is how much of the machine's processors others may take of a turn before its
// figures are said to be of a machine that is not quiet.
const quietShare = 0.05

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
