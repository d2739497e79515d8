package tikv

import (
	"context"
	"log/slog"
	"sync"

	"github.com/pingcap/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logTo has client-go, which has one log for all its clients, write what it takes for errors to the
// logger that came first. It counts as a warning here: what fails by it, fails where it was called.
var logTo = func() func(*slog.Logger) {
	var once sync.Once
	return func(to *slog.Logger) {
		once.Do(func() {
			log.ReplaceGlobals(zap.New(core{to}), &log.ZapProperties{Level: zap.NewAtomicLevelAt(zapcore.ErrorLevel)})
		})
	}
}()

// core is the log of client-go. It leaves fields away but for errors: they show keys.
type core struct{ to *slog.Logger }

func (core) Enabled(l zapcore.Level) bool { return l >= zapcore.ErrorLevel }

func (c core) With([]zapcore.Field) zapcore.Core { return c }

func (c core) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return checked.AddCore(e, c)
	}
	return checked
}

func (c core) Write(e zapcore.Entry, fields []zapcore.Field) error {
	var err error
	for _, f := range fields {
		if f.Type == zapcore.ErrorType {
			err, _ = f.Interface.(error)
		}
	}
	c.to.Log(context.Background(), slog.LevelWarn, "TiKV client: "+e.Message, "error", err)
	return nil
}

func (core) Sync() error { return nil }
