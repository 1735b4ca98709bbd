package records

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/parquet-go/parquet-go"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
)

// The sizes of a Parquet file. A row group is held in memory, column by column, until it is complete.
const (
	batchRows = 1024
	groupRows = 64 << 10
)

// parquetEncoder writes rows in batches, because the library has a cost per call and column.
type parquetEncoder struct {
	w     *parquet.GenericWriter[row]
	batch []row
}

func newParquet(w io.Writer, version string) *parquetEncoder {
	return &parquetEncoder{
		w: parquet.NewGenericWriter[row](w, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(groupRows),
			parquet.WriteBufferSize(0), parquet.CreatedBy("redline", version, "")),
		batch: make([]row, 0, batchRows),
	}
}

func (e *parquetEncoder) add(l *Level, r *record.Record, zero int64) error {
	e.batch = append(e.batch, rowOf(l, r, zero))
	if len(e.batch) < batchRows {
		return nil
	}
	return e.flush()
}

func (e *parquetEncoder) flush() error {
	_, err := e.w.Write(e.batch)
	e.batch = e.batch[:0]
	return err
}

func (e *parquetEncoder) close() error {
	if err := e.flush(); err != nil {
		return err
	}
	return e.w.Close()
}

type csvEncoder struct {
	w   io.Writer
	buf []byte
}

// csvHead are the columns of the CSV; they are those of the Parquet file.
const csvHead = "wall_ns,due_ns,sent_ns,written_ns,first_ns,end_ns,latency_ns,class,request_bytes,answer_bytes,step,slot,sequence,responses,delayed,mode,level,window\n"

func newCSV(w io.Writer) *csvEncoder { return &csvEncoder{w: w, buf: []byte(csvHead)} }

func (e *csvEncoder) add(l *Level, r *record.Record, zero int64) error {
	o := rowOf(l, r, zero)
	b := e.buf
	for _, v := range [...]int64{o.WallNs, o.DueNs, o.SentNs, o.WrittenNs, o.FirstNs, o.EndNs, o.LatencyNs} {
		b = strconv.AppendInt(b, v, 10)
		b = append(b, ',')
	}
	b = append(b, o.Class...)
	for _, v := range [...]int64{o.BytesOut, o.BytesIn, int64(o.Step), int64(o.Slot), o.Sequence, int64(o.Responses)} {
		b = append(b, ',')
		b = strconv.AppendInt(b, v, 10)
	}
	b = append(b, ',')
	b = strconv.AppendBool(b, o.Delayed)
	b = append(b, ',')
	b = append(b, o.Mode...)
	b = append(b, ',')
	b = strconv.AppendFloat(b, o.Level, 'g', -1, 64)
	b = append(b, ',')
	b = strconv.AppendInt(b, int64(o.Window), 10)
	return e.put(append(b, '\n'))
}

func (e *csvEncoder) put(b []byte) error {
	_, err := e.w.Write(b)
	e.buf = b[:0]
	return err
}

func (e *csvEncoder) close() error { return e.put(e.buf) }

// The histograms: latencies of requests that succeeded, up to an hour, to three digits, one histogram per window.
const (
	highest = int64(time.Hour)
	digits  = 3
)

// logEncoder writes HdrHistogram's log. The tag of a line is the level. Its interval is from the end of the previous window, or
// from the send of the level's first request, to the last end in the window.
type logEncoder struct {
	w        *hdrhistogram.HistogramLogWriter
	h        *hdrhistogram.Histogram
	from, to int64 // of the present interval
	l        Level
	any      bool
}

func newLog(w io.Writer) *logEncoder {
	return &logEncoder{w: hdrhistogram.NewHistogramLogWriter(w), h: hdrhistogram.New(1, highest, digits)}
}

func (e *logEncoder) add(l *Level, r *record.Record, zero int64) error {
	if !e.any {
		e.any, e.l, e.from, e.to = true, *l, r.Sent, r.Sent
		if err := e.head(zero); err != nil {
			return err
		}
	}
	if *l != e.l {
		if err := e.flush(); err != nil {
			return err
		}
		if e.from = e.to; l.Mode != e.l.Mode || l.Value != e.l.Value {
			e.from = r.Sent
		}
		e.l, e.to = *l, e.from
	}
	e.to = max(e.to, r.End)
	if r.Class != record.OK {
		return nil
	}
	return e.h.RecordValue(min(max(r.End-l.begin(r), 0), highest))
}

func (e *logEncoder) head(zero int64) error {
	start := clock.Wall(zero) / 1e6
	if err := e.w.OutputLogFormatVersion(); err != nil {
		return err
	}
	if err := e.w.OutputStartTime(start); err != nil {
		return err
	}
	return e.w.OutputLegend()
}

// flush writes the histogram of a window that had a request.
func (e *logEncoder) flush() error {
	if e.h.TotalCount() == 0 {
		return nil
	}
	e.h.SetTag(e.l.Mode + "=" + strconv.FormatFloat(e.l.Value, 'g', -1, 64))
	e.h.SetStartTimeMs(clock.Wall(e.from) / 1e6)
	e.h.SetEndTimeMs(clock.Wall(e.to) / 1e6)
	if err := e.w.OutputIntervalHistogram(e.h); err != nil {
		return fmt.Errorf("encode a histogram: %w", err)
	}
	e.h.Reset()
	return nil
}

func (e *logEncoder) close() error {
	if !e.any {
		return e.head(clock.Now())
	}
	return e.flush()
}
