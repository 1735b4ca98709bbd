package command

import "path/filepath"

// CacheFolder is where this program keeps what it can make again; empty where the user has no folder for it.
func (p *IO) CacheFolder() string { return p.folder("XDG_CACHE_HOME", ".cache") }

// DataFolder is where this program keeps results; empty where the user has no folder for it.
func (p *IO) DataFolder() string { return p.folder("XDG_DATA_HOME", ".local", "share") }

// StateFolder is where this program keeps what a later run goes on with; empty where the user has no folder for it.
func (p *IO) StateFolder() string { return p.folder("XDG_STATE_HOME", ".local", "state") }

// folder is the program's folder in the one that a variable names, or else in the usual one of the user's home.
func (p *IO) folder(variable string, usual ...string) string {
	dir := p.Getenv(variable)
	switch home := p.Getenv("HOME"); {
	case dir != "":
	case home != "":
		dir = filepath.Join(append([]string{home}, usual...)...)
	case p.Getenv("LOCALAPPDATA") != "":
		dir = p.Getenv("LOCALAPPDATA")
	default:
		return ""
	}
	return filepath.Join(dir, "redline")
}
