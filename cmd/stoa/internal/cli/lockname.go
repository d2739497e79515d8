package cli

import (
	"strings"

	"github.com/stoadb/stoa/kv/lock"
)

// LockName returns the name of the lock that a person means: a word without a colon is a
// task, so that deploy is task:deploy.
func LockName(text string) (string, error) {
	if text != "" && !strings.Contains(text, ":") {
		text = lock.Task(text)
	}
	if _, _, err := lock.ParseName(text); err != nil {
		return "", Bad(err, "a word without a colon is the lock of a task: deploy is task:deploy")
	}
	return text, nil
}
