package kv

// CheckRow returns an error that is engine.ErrCorrupt for a row of the key-values that
// does not parse: its key, or its value, where that is a record, a change of the log, or
// a kept revision. What other rows say is not looked at; [Check] does that.
func CheckRow(key, value []byte) error {
	row, err := ParseRow(key)
	if err != nil {
		return err
	}
	switch row.Shape {
	case ShapeRecord:
		_, err = parseRecord(key, row.Key, value)
	case ShapeRevision:
		_, err = parseRecord(key, row.Name, value)
	case ShapeLog:
		_, _, err = parseLog(key, value)
	}
	return err
}
