package bench

import (
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxPictures is how many pictures git keeps of what was measured.
const maxPictures = 12

// Git keeps the reports and the pictures that the README shows, nothing else of
// what `make bench` writes.
func TestResultsAreReportsAndThePicturesOfTheREADME(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: a minimal system has no git; install it")
	}
	listed, err := exec.Command("git", "ls-files", "-z", "results").Output()
	if err != nil {
		t.Skip("SKIPPED: the tree is not one of git's")
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	pictures := 0
	for name := range strings.SplitSeq(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		require.Contains(t, string(readme), "]("+strings.Replace(name, ReportFile, "report.txt", 1)+")", "the README does not show it: git rm it, make bench makes it anew")
		if path.Base(name) != ReportFile && path.Base(name) != "report.txt" {
			require.Equal(t, ".svg", path.Ext(name), "%s: pictures have one format", name)
			pictures++
		}
	}
	require.LessOrEqual(t, pictures, maxPictures)
	for _, shown := range strings.Split(string(readme), "](results/")[1:] {
		name, _, _ := strings.Cut(shown, ")")
		require.FileExists(t, path.Join("results", name))
	}
}
