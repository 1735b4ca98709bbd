package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

// The fit finds the law of points that follow one.
func TestFitOfAPowerLaw(t *testing.T) {
	c := curve{name: "connections"}
	for _, n := range []float64{1, 10, 100, 1000} {
		c.points = append(c.points, point{n, 7 * math.Pow(n, 0.05)})
	}
	if a, b := c.fit(); math.Abs(a-7) > 1e-9 || math.Abs(b-0.05) > 1e-9 {
		t.Errorf("the fit is %g · n^%g, want 7 · n^0.05", a, b)
	}
	if got := c.formula(); got != "7.00 µs · connections^0.050" {
		t.Errorf("formula: %s", got)
	}
}

func TestFitOfALine(t *testing.T) {
	c := curve{name: "connections", linear: true, from: 10}
	for _, n := range []float64{1, 10, 100, 1000} {
		c.points = append(c.points, point{n, 8 + 0.001*n})
	}
	c.points[0].micros = 20 // it is not fitted
	if got := c.formula(); got != "8.00 µs + 1.00 µs per 1,000 connections, from 10 on" {
		t.Errorf("formula: %s", got)
	}
}

func TestDrawingIsXML(t *testing.T) {
	drawing := drawCurves([]curve{{name: "cores", title: "CPU", points: []point{{1, 5}, {2, 6}, {4, 6}}}})
	d := xml.NewDecoder(strings.NewReader(drawing))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(drawing, "<circle"); n != 3 {
		t.Errorf("%d points are drawn, want 3", n)
	}
}
