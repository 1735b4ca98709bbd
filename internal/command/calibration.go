package command

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/redline-bench/redline/internal/calibrate"
)

// Calibration reads what is known of this machine when it is first asked for: the first level asks, not the start, as the
// first request must not wait for a file.
func (p *IO) Calibration(warn func(string)) func() *calibrate.Table {
	return sync.OnceValue(func() *calibrate.Table {
		path := p.CalibrationFile()
		if path == "" {
			return nil
		}
		t, err := calibrate.Load(path, p.machine())
		if err != nil {
			warn("warning: " + err.Error())
		}
		return t
	})
}

// KeepFloors adds floors to the table of this machine, for later runs. It does nothing where there is no place for the table.
func (p *IO) KeepFloors(floors []calibrate.Floor) error {
	path := p.CalibrationFile()
	if path == "" || len(floors) == 0 {
		return nil
	}
	table, _ := calibrate.Load(path, p.machine()) // one that cannot be read is written anew
	if table == nil {
		table = calibrate.New(p.machine())
	}
	table.Put(floors...)
	return table.Save(p.Files, path)
}

// CalibrationFile is where the floors of this machine are kept; empty where the user has no folder for it.
func (p *IO) CalibrationFile() string {
	dir := p.CacheFolder()
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "calibration.json")
}

func (p *IO) machine() calibrate.Machine {
	host, _ := os.Hostname()
	return calibrate.Machine{Hostname: host, CPUs: runtime.NumCPU(), Version: p.Version}
}
