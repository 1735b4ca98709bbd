// Package columns checks the form of Parquet files.
package columns

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// Check compares the schema of a file with the one that its readers rely on. Every column must be compressed with zstd,
// and no row group may have more than maxRows rows: so many are in memory while the file is written.
func Check(tb testing.TB, path, schema string, maxRows int64) {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		tb.Fatal(err)
	}
	p, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		tb.Fatal(err)
	}
	if diff := cmp.Diff(schema, p.Schema().String()); diff != "" {
		tb.Errorf("schema of %s (-want +got):\n%s", path, diff)
	}
	for i, group := range p.Metadata().RowGroups {
		if group.NumRows > maxRows {
			tb.Errorf("%s: row group %d has %d rows, want at most %d", path, i, group.NumRows, maxRows)
		}
		for _, c := range group.Columns {
			if c.MetaData.Codec != format.Zstd {
				tb.Errorf("%s: column %v of row group %d is compressed with %v", path, c.MetaData.PathInSchema, i, c.MetaData.Codec)
			}
		}
	}
}
