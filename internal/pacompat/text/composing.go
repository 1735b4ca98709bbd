package text

import (
	"path/filepath"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

// File is a whole file to be written.
type File struct {
	Name    string
	Content []byte
}

// ComposingFiles makes a CSV for each model that the model under test calls itself, beside the main CSV. It
// returns the remarks to print with them.
func ComposingFiles(p *plan.Plan, m *service.Model, levels []result.Level) (files []File, remarks []string) {
	rows := byThroughput(p, levels)
	if len(rows) == 0 || rows[0].Server == nil || p.Output.CSV == "" || !serverStats(m) {
		return nil, nil
	}
	for _, part := range sorted(rows[0].Server.Composing) {
		name, version := part.Stats.Name, part.Stats.Version
		var t table
		levelHeader(&t, p)
		t.cell("Client Send")
		serverHeader(&t, m)
		t.cell("Client Recv")
		t.end()
		for i := range rows {
			if composingRow(&t, p, m, &rows[i], name, version) {
				remarks = append(remarks, AccountedTime)
			}
		}
		dir, base := filepath.Split(p.Output.CSV)
		files = append(files, File{Name: dir + name + "_v" + version + "." + base, Content: t.buf.Bytes()})
	}
	return files, remarks
}

// composingRow writes one level of a composing model. Its throughput is the model's, scaled by the requests that each served. The
// client sends it no requests, so the client's cells are 0.
func composingRow(t *table, p *plan.Plan, m *service.Model, l *result.Level, name, version string) (short bool) {
	var whole, part service.ModelStats
	if l.Server != nil {
		whole = l.Server.Stats
		for i := range l.Server.Composing {
			if s := &l.Server.Composing[i].Stats; s.Name == name && s.Version == version {
				part = *s
			}
		}
	}
	var share float64
	if whole.Success.Count > 0 {
		share = float64(part.Success.Count) / float64(whole.Success.Count)
	}
	t.cell(levelValue(p, l), number(share*single(l.Client.InferPerSec)))
	t.num(0)
	short = serverCells(t, m, &part, part.Success.Avg())
	t.num(0)
	t.end()
	return short
}
