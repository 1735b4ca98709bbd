package profile

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/command/profile/traffic"
	"github.com/redline-bench/redline/internal/pacompat/export"
	"github.com/redline-bench/redline/internal/pacompat/text"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/service"
)

// exportConfig says how the export reads the content of requests and responses.
func (s *session) exportConfig() export.Config {
	c := export.Config{Inputs: s.Inputs(), Outputs: s.Service.Outputs, Names: outputNames(s.Model)}
	names := s.Plan.Policies.ExportNames
	if names != "" {
		c.Inputs, c.Outputs = traffic.WithoutData(c.Inputs), nil
	}
	if names == plan.NamesOfInputs {
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

// writeFiles writes the CSV, the export and the result: what there is, or nothing of a failed run.
func (s *session) writeFiles(res *result.Result, err error) error {
	interrupted := errors.Is(err, run.ErrInterrupted)
	if s.Plan.Policies.AllOrNothing && err != nil && !interrupted {
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
	if s.export == nil {
		return nil
	}
	w := s.export
	s.export = nil
	if !s.Plan.Policies.BareReport {
		w.Verdict = string(res.Verdict.State)
	}
	return w.Commit(s.Plan.Target.Kind, s.Plan.Target.Endpoint)
}
