package session

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/kv/record"
)

// Refusals are those of records. They name fields, and never show an id.

func refuse(code record.Code, field, format string, args ...any) *record.Error {
	return &record.Error{Code: code, Collection: Sessions, Field: field, Reason: fmt.Sprintf(format, args...)}
}

// malformed is the refusal of an argument, or of a field of a document.
func malformed(field, format string, args ...any) *record.Error {
	return refuse(record.CodeValidation, field, format, args...)
}

// noSession is the refusal of what is asked of a session that there is none of.
func noSession() error {
	return refuse(record.CodeNotFound, fieldID, "there is no such session: it was revoked, its time is over, or there never was one")
}

// unless is an error that is not that there is no session, as callers are told that.
func unless(err error) error {
	if errors.Is(err, record.ErrNotFound) {
		return noSession()
	}
	return err
}
