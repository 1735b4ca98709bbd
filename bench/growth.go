package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// point is a measured CPU time per request at a number of connections or cores.
type point struct{ n, micros float64 }

// growthRows measures how the CPU time per HTTP request grows with the number of connections (the client has half of the cores) and
// with the number of the client's cores (32 connections per core). It fits a power law to each and draws both in growth.svg.
func growthRows(ctx context.Context, e *env) error {
	const least = 8
	half := coreSets(runtime.NumCPU() / 2)
	if half < least/2 {
		e.report.note("growth: NOT MEASURED: it needs %d cores, this machine has %d", least, runtime.NumCPU())
		return nil
	}
	connections := curve{name: "connections", title: fmt.Sprintf("CPU per request by connections, %d cores", half)}
	for _, n := range []int{1, 3, 10, 30, 100, 300, 1000, 3000, 10_000} {
		if err := e.grow(ctx, &connections, n, work{inFlight: n, cores: half}); err != nil {
			return err
		}
	}
	cores := curve{name: "cores", title: "CPU per request by cores of the client, 32 connections per core"}
	for n := 1; n <= runtime.NumCPU(); n *= 2 {
		if err := e.grow(ctx, &cores, n, work{inFlight: 32 * n, cores: coreSets(n)}); err != nil {
			return err
		}
	}
	e.report.note("growth: %s; %s", connections.formula(), cores.formula())
	if e.report.dir == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(e.report.dir, "growth.svg"), []byte(drawCurves([]curve{connections, cores})), 0o644)
}

// grow adds a point to a curve: the cheapest of several runs.
func (e *env) grow(ctx context.Context, c *curve, n int, w work) error {
	w.name, w.protocol, w.elements = "HTTP infer, 64-byte tensor", "http", small
	w.requests = e.requests(200_000 + 100_000*w.cores.threads())
	if w.inFlight == 1 {
		w.requests /= 8
	}
	samples, err := e.compareTools(ctx, w, e.tools()[:1])
	if err != nil {
		return err
	}
	if len(samples["redline"]) == 0 {
		return errors.New("no run succeeded")
	}
	best := cheapest(samples["redline"])
	c.points = append(c.points, point{float64(n), best.micros()})
	e.report.add(row{Work: c.title + fmt.Sprintf(": %d", n), InFlight: w.inFlight, Tool: "redline", Figure: best.micros(), Unit: "µs CPU", PerSecond: best.perSecond()})
	return nil
}

// curve is a number of points with a name for its axis.
type curve struct {
	name, title string
	points      []point
}

// fit returns the power law micros = a · n^b with the smallest squared error of the logarithms.
func (c curve) fit() (a, b float64) {
	var x, y, xx, xy float64
	k := float64(len(c.points))
	for _, p := range c.points {
		lx, ly := math.Log(p.n), math.Log(p.micros)
		x, y, xx, xy = x+lx, y+ly, xx+lx*lx, xy+lx*ly
	}
	b = (k*xy - x*y) / (k*xx - x*x)
	return math.Exp((y - b*x) / k), b
}

// formula is the fitted law in words.
func (c curve) formula() string {
	a, b := c.fit()
	return fmt.Sprintf("%.2f µs · %s^%.3f", a, c.name, b)
}

// drawCurves draws the curves side by side, with the number of connections or cores on a logarithmic axis.
func drawCurves(curves []curve) string {
	const width, height, left, bottom, top = 420.0, 260.0, 52.0, 44.0, 48.0
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="11">`+"\n", width*float64(len(curves)), height)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	for i, c := range curves {
		highest, most := 0.0, c.points[len(c.points)-1].n
		for _, p := range c.points {
			highest = max(highest, p.micros)
		}
		highest = math.Ceil(highest*1.15/2) * 2
		x := func(n float64) float64 {
			return left + (width-left-20)*math.Log(n)/math.Log(most)
		}
		y := func(v float64) float64 { return height - bottom - (height-bottom-top)*v/highest }
		fmt.Fprintf(&b, `<g transform="translate(%g 0)">`+"\n", width*float64(i))
		fmt.Fprintf(&b, `<text x="%g" y="18" font-size="12" font-weight="bold">%s</text>`+"\n", left, c.title)
		fmt.Fprintf(&b, `<text x="%g" y="34" fill="#555">fit: %s</text>`+"\n", left, c.formula())
		for v := 0.0; v <= highest; v += highest / 4 {
			fmt.Fprintf(&b, `<path d="M%g %gH%g" stroke="#ddd"/><text x="%g" y="%g" text-anchor="end">%.3g µs</text>`+"\n", left, y(v), width-20, left-4, y(v)+4, v)
		}
		for _, p := range c.points {
			fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="middle">%g</text>`+"\n", x(p.n), height-bottom+16, p.n)
		}
		fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="middle">%s</text>`+"\n", (left+width-20)/2, height-8, c.name)
		a, power := c.fit()
		var measured, fitted []string
		for _, p := range c.points {
			measured = append(measured, fmt.Sprintf("%.1f,%.1f", x(p.n), y(p.micros)))
			fitted = append(fitted, fmt.Sprintf("%.1f,%.1f", x(p.n), y(a*math.Pow(p.n, power))))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="#1f5fbf"/>`+"\n", x(p.n), y(p.micros))
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="#1f5fbf" stroke-width="1.5"/>`+"\n", strings.Join(measured, " "))
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="#c55" stroke-dasharray="4 3"/>`+"\n</g>\n", strings.Join(fitted, " "))
	}
	b.WriteString("</svg>\n")
	return b.String()
}
