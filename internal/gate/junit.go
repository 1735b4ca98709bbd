package gate

import (
	"encoding/xml"
	"fmt"
	"io"

	"github.com/redline-bench/redline/internal/cleantext"
)

type suite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Time     string   `xml:"time,attr"`
	Cases    []xcase  `xml:"testcase"`
}

type xcase struct {
	Name    string `xml:"name,attr"`
	Class   string `xml:"classname,attr"`
	Failure *note  `xml:"failure,omitempty"`
	Error   *note  `xml:"error,omitempty"`
	Out     string `xml:"system-out,omitempty"`
}

type note struct {
	Message string `xml:"message,attr"`
}

// WriteJUnit writes the findings as one JUnit suite, one case each. The verdict is a case too; it is an error for a void run.
func (g *Gate) WriteJUnit(w io.Writer, name string, seconds float64) error {
	s := suite{Name: name, Time: fmt.Sprintf("%.3f", seconds)}
	valid := xcase{Name: "the run is valid", Class: name}
	if g.Invalid != "" {
		valid.Error = &note{cleantext.Cut(g.Invalid, 1000)}
		s.Errors++
	}
	s.Cases = append(s.Cases, valid)
	for _, f := range g.Findings {
		c := xcase{Name: f.Rule, Class: name, Out: cleantext.Line(f.Text)}
		if f.Level != "" {
			c.Name += " at " + f.Level
		}
		switch {
		case f.Unknown:
			c.Error = &note{cleantext.Line(f.Text)}
			s.Errors++
		case !f.OK:
			c.Failure = &note{cleantext.Line(f.Text)}
			s.Failures++
		}
		s.Cases = append(s.Cases, c)
	}
	s.Tests = len(s.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(&s); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
