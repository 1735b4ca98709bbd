package profile

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/command/profile/traffic"
	"github.com/redline-bench/redline/internal/pacompat/export"
	"github.com/redline-bench/redline/internal/pacompat/kinds"
	"github.com/redline-bench/redline/internal/pacompat/text"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/service"
)

// exportConfig says how the export reads the content of requests and responses. perf_analyzer exports the content for some
// kinds; for the others it exports names without data, and so does perf_analyzer mode.
func (s *session) exportConfig() export.Config {
	inputs := s.Inputs()
	c := export.Config{Inputs: inputs, Outputs: s.Service.Outputs, Names: outputNames(s.Model)}
	words := kinds.Of(s.Plan.Target.Kind)
	if s.Plan.Program == plan.Redline || !words.ExportsNames {
		return c
	}
	c.Inputs = traffic.WithoutData(inputs)
	c.Outputs = nil
	if words.ExportsNoOutputs {
		c.Names = nil
	}
	return c
}

func outputNames(m *service.Model) []string {
	names := make([]string, len(m.Outputs)) // an empty list, not null, where a model has none
	for i, o := range m.Outputs {
		names[i] = o.Name
	}
	return names
}

// writeFiles writes the CSV, the export and the result. In perf_analyzer mode a failed run writes none of them;
// else it writes what there is.
func (s *session) writeFiles(res *result.Result, err error) error {
	interrupted := errors.Is(err, run.ErrInterrupted)
	if s.Plan.Program == plan.PerfAnalyzer && err != nil && !interrupted {
		return nil
	}
	return errors.Join(s.writeCSV(res), s.commitExport(res), report.WriteFile(s.Files, s.Plan.Output.ResultJSON, res))
}

func (s *session) writeCSV(res *result.Result) error {
	path := s.Plan.Output.CSV
	levels := text.Reported(s.Plan, res.Levels)
	if path == "" || len(levels) == 0 {
		return nil
	}
	var b bytes.Buffer
	remarks, err := text.WriteCSV(&b, s.Plan, s.Model, levels)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	err = s.Files.WriteFile(path, b.Bytes())
	files, more := text.ComposingFiles(s.Plan, s.Model, levels)
	for _, f := range files {
		err = errors.Join(err, s.Files.WriteFile(f.Name, f.Content))
	}
	for _, r := range append(remarks, more...) {
		s.Console.Warn(r)
	}
	return err
}

func (s *session) commitExport(res *result.Result) error {
	if s.exportErr != nil {
		return errors.New(text.ExportUnwritable)
	}
	if s.export == nil {
		return nil
	}
	w := s.export
	s.export = nil
	if s.Plan.Program == plan.Redline {
		w.Verdict = string(res.Verdict.State)
	}
	return w.Commit(exportVersion, s.Plan.Target.Kind, s.Plan.Target.Endpoint)
}

// exportVersion is the perf_analyzer release whose export format is written; its readers look at it.
const exportVersion = "2.60.0"
