package inspection

import (
	"fmt"
	"time"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine/rocks"
)

// startBuilding says in dir that its store is being built by a command.
func startBuilding(p *cli.Process, dir, command string) error {
	return rocks.BeginBuilding(dir, fmt.Sprintf("`stoa %s`, begun %s and not ended,", command, time.Now().UTC().Format(time.RFC3339)))
}

// endBuilding says in dir that its store is whole, if it was made without an error. The
// error of one that was not says what to do with the part that is there.
func endBuilding(dir string, err error) error {
	if err == nil {
		return rocks.EndBuilding(dir)
	}
	f := *cli.Explain(err)
	f.Err = err
	if f.Hint != "" {
		f.Hint += "; "
	}
	f.Hint += "what is in " + dir + " is not whole: " + cli.UnfinishedHint(dir)
	return &f
}
