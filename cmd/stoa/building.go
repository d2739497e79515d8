package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/stoadb/stoa/engine/rocks"
)

// startBuilding says in dir that its store is being built by a command.
func (p *process) startBuilding(dir, command string) error {
	return rocks.BeginBuilding(dir, fmt.Sprintf("`stoa %s`, begun %s and not ended,", command, time.Now().UTC().Format(time.RFC3339)))
}

// endBuilding says in dir that its store is whole, if it was made without an error. The
// error of one that was not says what to do with the part that is there.
func endBuilding(dir string, err error) error {
	if err == nil {
		return rocks.EndBuilding(dir)
	}
	f := *explain(err)
	f.err = err
	if f.hint != "" {
		f.hint += "; "
	}
	f.hint += "what is in " + dir + " is not whole: " + unfinishedHint(dir)
	return &f
}

func unfinishedHint(dir string) string {
	return "remove " + dir + " and run the command again; `stoa salvage " + dir + " NEW` copies the part that is there"
}

// isUnfinished returns the failure of a directory that holds only a part of a store; nil
// if err is another one.
func isUnfinished(dir string, err error) error {
	if !errors.Is(err, rocks.ErrUnfinished) {
		return nil
	}
	return &failure{exitOpen, err, unfinishedHint(dir)}
}
