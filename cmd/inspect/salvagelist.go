package inspect

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// listing is which files of a directory make up the store, by its manifest.
// RocksDB deletes those that it has replaced only a while later, and what it has
// overwritten or deleted stands in them with greater sequences than what has taken
// its place: those at the bottom are set to zero. Where the manifest cannot be
// trusted, all files count.
type listing struct {
	names map[uint32]string // of the families
	// tables are those that count; nil: all.
	tables map[uint64]bool
	// since is the first log that counts for a family; nil: all logs count for all.
	since map[uint32]uint64
}

// list reads the manifest.
func (s *salvage) list() (l listing) {
	found, err := rocks.List(s.dir)
	l.names = found.Manifest.Names()
	why := found.Cut
	if err != nil {
		why = err.Error()
	}
	if why != "" {
		if added := schemaNames(l.names); added != nil {
			s.lost("manifest", "families are taken to have the numbers of the schema: "+why)
		}
		s.out.Notes = append(s.out.Notes, "all tables and logs are read, also those that were replaced: rows that were overwritten or deleted may come back: "+why)
		return l
	}
	l.tables, l.since = map[uint64]bool{}, map[uint32]uint64{}
	for id, f := range found.Manifest.Families {
		l.since[id] = f.Log
		for number := range f.Tables {
			l.tables[number] = true
		}
	}
	for _, stray := range found.Strays {
		l.tables[stray.Number] = true
		s.out.Notes = append(s.out.Notes, stray.String())
	}
	return l
}

// schemaNames adds the families of the schema whose names are not known, under the
// numbers that they have in a store made by this build, and returns their names.
func schemaNames(names map[uint32]string) (added []string) {
	known := slices.Collect(maps.Values(names))
	for c := range column.All {
		if _, ok := names[uint32(c)]; !ok && !slices.Contains(known, c.String()) {
			names[uint32(c)] = c.String()
			added = append(added, c.String())
		}
	}
	return added
}

// counts reports whether a log counts for a family.
func (l *listing) counts(log uint64, family uint32) bool {
	return l.since == nil || log >= l.since[family]
}

// count returns the tables that count of those that are there.
func (l *listing) count(there []diskfile.File) []diskfile.File {
	if l.tables == nil {
		return there
	}
	return slices.DeleteFunc(there, func(f diskfile.File) bool { return !l.tables[f.Number] })
}

// missing returns the names of the tables that count and are not there.
func (l *listing) missing(there []diskfile.File) (names []string) {
	for _, number := range slices.Sorted(maps.Keys(l.tables)) {
		if !slices.ContainsFunc(there, func(f diskfile.File) bool { return f.Number == number }) {
			names = append(names, fmt.Sprintf("%06d.sst", number))
		}
	}
	return names
}
