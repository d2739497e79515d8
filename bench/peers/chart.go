package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/stoadb/stoa/bench"
)

// drawSaved draws the report that was saved below dir.
func drawSaved(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, bench.ReportFile))
	if err != nil {
		return fmt.Errorf("drawing charts: %w", err)
	}
	var r bench.Report
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("drawing charts of %s: %w", dir, err)
	}
	return draw(&r, dir)
}

// draw writes a chart of each workload below dir, as SVG.
func draw(r *bench.Report, dir string) error {
	for i := range r.Results {
		res := &r.Results[i]
		if len(res.Measures) > 0 { // else it has figures alone
			p, err := chart(r, res)
			if err != nil {
				return fmt.Errorf("drawing %s: %w", res.Workload, err)
			}
			if err := save(p, dir, res.Workload, 4+2.2*float64(len(res.Measures))); err != nil {
				return err
			}
		}
		for name, lines := range curves(res) {
			p, err := growth(r, name, lines)
			if err != nil {
				return fmt.Errorf("drawing %s: %w", name, err)
			}
			if err := save(p, dir, res.Workload+" "+name, curveWidth); err != nil {
				return err
			}
		}
	}
	return nil
}

const curveWidth = 13 // in cm

// save writes a chart as SVG; width is in centimeters.
func save(p *plot.Plot, dir, name string, width float64) error {
	path := filepath.Join(dir, strings.NewReplacer("/", "-", " ", "-").Replace(name)+".svg")
	if err := p.Save(vg.Length(width)*vg.Centimeter, 8*vg.Centimeter, path); err != nil {
		return fmt.Errorf("drawing %s: %w", path, err)
	}
	return nil
}

// curves returns the curves of a result by what they are of.
func curves(res *bench.Result) map[string][]bench.Curve {
	by := map[string][]bench.Curve{}
	for _, c := range res.Curves {
		by[c.Name] = append(by[c.Name], c)
	}
	return by
}

// growth draws how something grows with the rows: a line for each subject, both
// axes logarithmic.
func growth(r *bench.Report, name string, lines []bench.Curve) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%s, by the rows of the store\n%s, %d cores", name, r.Machine.CPU, r.Machine.Cores)
	p.X.Label.Text, p.Y.Label.Text = "rows", lines[0].Unit
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	for i, c := range lines {
		var xys plotter.XYs
		for _, at := range c.Points {
			xys = append(xys, plotter.XY{X: float64(at.Rows), Y: max(at.Value, 1e-3)})
		}
		line, points, err := plotter.NewLinePoints(xys)
		if err != nil {
			return nil, err
		}
		line.Color, points.Color = plotutil.Color(i+1), plotutil.Color(i+1)
		p.Add(line, points)
		p.Legend.Add(c.Subject, line, points)
	}
	return p, nil
}

// chart draws the wall time of a workload: a bar for each subject, and what its
// turns took from least to most.
func chart(r *bench.Report, res *bench.Result) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%s: %s\n%s, %d cores, %d rows", res.Workload, res.About, r.Machine.CPU, r.Machine.Cores, r.Rows)
	p.Y.Label.Text = "µs per " + res.Unit
	p.Y.Min = 0
	var names []string
	var spread bars
	for i, m := range res.Measures {
		names = append(names, m.Subject)
		spread.XYs = append(spread.XYs, plotter.XY{X: float64(i), Y: m.Wall.Median / 1e3})
		spread.YErrors = append(spread.YErrors, struct{ Low, High float64 }{
			(m.Wall.Median - m.Wall.Min) / 1e3, (m.Wall.Max - m.Wall.Median) / 1e3,
		})
	}
	medians, err := plotter.NewBarChart(plotter.YValues{XYer: spread}, vg.Points(28))
	if err != nil {
		return nil, err
	}
	medians.Color = plotutil.Color(2)
	medians.LineStyle.Width = 0
	ends, err := plotter.NewYErrorBars(spread)
	if err != nil {
		return nil, err
	}
	p.Add(medians, ends)
	p.NominalX(names...)
	return p, nil
}

// bars are medians and how far the ends are from them.
type bars struct {
	plotter.XYs
	plotter.YErrors
}
