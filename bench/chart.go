package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// Save writes the report below dir as report.txt, report.json and one chart for
// each workload.
func (r *Report) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	for name, write := range map[string]func(*os.File) error{
		"report.txt":  func(f *os.File) error { return r.WriteText(f) },
		"report.json": func(f *os.File) error { return r.WriteJSON(f) },
	} {
		if err := save(filepath.Join(dir, name), write); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
	}
	for i := range r.Results {
		if err := r.chart(&r.Results[i], dir); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
	}
	return nil
}

func save(path string, write func(*os.File) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// chart draws the wall time of a workload: a bar for each subject.
func (r *Report) chart(res *Result, dir string) error {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%s: %s\n%s, %d cores", res.Workload, res.About, r.Machine.CPU, r.Machine.Cores)
	p.Y.Label.Text = "µs per " + res.Unit
	p.Y.Min = 0
	var names []string
	values := make(plotter.Values, 0, len(res.Measures))
	for _, m := range res.Measures {
		names = append(names, m.Subject)
		values = append(values, m.Wall.Median/1e3)
	}
	bars, err := plotter.NewBarChart(values, vg.Points(28))
	if err != nil {
		return err
	}
	bars.Color = plotutil.Color(2)
	bars.LineStyle.Width = 0
	p.Add(bars)
	p.NominalX(names...)
	return p.Save(12*vg.Centimeter, 8*vg.Centimeter, filepath.Join(dir, strings.ReplaceAll(res.Workload, "/", "-")+".png"))
}
