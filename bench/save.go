package bench

import (
	"fmt"
	"os"
	"path/filepath"
)

// ReportFile is the name of the report that Save writes as JSON.
const ReportFile = "report.json"

// Save writes the report below dir as report.txt and report.json. Command peers
// draws charts of it.
func (r *Report) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	for name, write := range map[string]func(*os.File) error{
		"report.txt": func(f *os.File) error { return r.WriteText(f) },
		ReportFile:   func(f *os.File) error { return r.WriteJSON(f) },
	} {
		if err := save(filepath.Join(dir, name), write); err != nil {
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
