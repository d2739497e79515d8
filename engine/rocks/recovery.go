package rocks

// Mode is how the write-ahead log was read at open. The zero Mode is none.
type Mode uint8

const (
	// TolerateTail drops a record at the end of the log that was cut short, as a
	// power loss leaves it. Damage anywhere else is ErrCorrupt.
	TolerateTail Mode = 1 + iota
	// Absolute takes no damage at all. It is used after a clean shutdown.
	Absolute
)

// String is the mode in the words of RocksDB, for logs and reports.
func (m Mode) String() string {
	switch m {
	case TolerateTail:
		return "tolerate tail"
	case Absolute:
		return "absolute consistency"
	}
	return "none"
}

// Recovery says what an engine found when it was opened, or reopened.
type Recovery struct {
	Created   bool   // the store was made by this opening
	Clean     bool   // it had been shut down in order
	Mode      Mode   // how the write-ahead log was read
	Watermark uint64 // the last sequence known to have been on disk; 0: not known
	Sequence  uint64 // the last sequence found
	// Lost is how many changes that had been on disk are gone: Watermark minus
	// Sequence, or 0.
	Lost uint64
	// Cut says, for people, what the manifest lacks of what it had on disk; "": nothing
	// that is known.
	Cut string
	// Unlisted says, for people, which tables are there whose changes are in no table
	// that the manifest lists, and in no log.
	Unlisted []string
	// Logs says, for people, which logs cannot be read as far as they were on disk,
	// though more came after them.
	Logs []string
	// Left says, for people, what was behind a hole in what was not known to be on disk.
	// Opened for writing, the store has put it into files of its directory, which are
	// named there, and goes on before the hole; read-only it is only not shown.
	Left []string
	// Unfinished says, for people, what was to make the store and was broken off, or is
	// under way; "": it is whole.
	Unfinished string
	Problems   []string // what else was not as it should be, for people
}

// Damaged reports whether changes are gone, or what says where they are.
func (r *Recovery) Damaged() bool {
	return r.Lost > 0 || r.Cut != "" || len(r.Unlisted) > 0 || len(r.Logs) > 0
}
