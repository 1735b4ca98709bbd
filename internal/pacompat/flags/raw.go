package flags

import (
	"math"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// raw is a command line that is being read: the plan so far, and values that the rules across options need but the plan does
// not keep.
type raw struct {
	compat bool // perf_analyzer's command line
	plan   plan.Plan
	notes  Notes

	table option.Table

	mode  plan.Mode // the load mode taken, "" before any
	taken string    // the option that took it
	old   bool      // -t, -c or -d was used

	protocol     string // as written
	async, sync  bool
	zero         bool
	paths        []string
	startID      int
	metricsURL   string
	metricsEvery time.Duration
	latencyFrom  string
	duration     time.Duration
	grpcTLS      plan.TLS
	httpTLS      plan.TLS
}

// newRaw holds the default of every option.
func newRaw(program Program, secrets *secret.Set) *raw {
	r := &raw{
		compat:       program == PerfAnalyzer,
		plan:         plan.Default(),
		protocol:     string(plan.HTTP),
		startID:      1,
		metricsURL:   defaultMetricsURL,
		metricsEvery: time.Second,
		latencyFrom:  fromScheduled,
	}
	t := &r.plan.Target
	r.httpTLS, t.TLS, t.URL = t.TLS, plan.TLS{}, "" // the rules choose them by the protocol
	t.SignatureName, t.ServerDirectory = "serving_default", "/opt/tritonserver"
	r.plan.Load.Period = 10
	r.plan.Input.SequenceIDRange = math.MaxUint32
	r.plan.Fleet = plan.DefaultFleet()
	if r.compat {
		behaveAsPerfAnalyzer(&r.plan)
	}
	rows := slices.Concat(r.targetRows(), r.loadRows(), r.measureRows(), r.inputRows(), r.transportRows(),
		r.sequenceRows(), r.serverRows(), r.outputRows(), r.outcomeRows(), r.kindRows(), r.deprecatedRows(), otherRows())
	if r.compat {
		rows = slices.DeleteFunc(rows, func(row option.Row) bool { return row.RedlineOnly })
		for i := range rows {
			r.ignoreRest(&rows[i])
		}
	}
	r.table = option.Table{Secrets: secrets, Getopt: r.compat, Rows: rows}
	return r
}

// outcomeRows are the options that every measuring command of redline has.
func (r *raw) outcomeRows() []option.Row {
	rows := append(r.plan.Outcome.Rows(), r.plan.Fleet.Rows()...)
	for i := range rows {
		rows[i].RedlineOnly = true
	}
	return rows
}

// Rows returns the options of a program, group by group.
func Rows(program Program) []option.Row { return newRaw(program, nil).table.Rows }

const defaultMetricsURL = "localhost:8002/metrics"

// warn notes a remark about the command line.
func (r *raw) warn(text string) { r.notes.Warnings = append(r.notes.Warnings, "warning: "+text) }

func (r *raw) warnOld(name, instead string) { r.warn(name + " is an old option: use " + instead) }
