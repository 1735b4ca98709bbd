package plan

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/secret"
)

// Fleet is which workers make the load of a run; the zero value is this process alone.
type Fleet struct {
	Workers string        `json:"workers,omitempty"` // a number, or all
	Run     string        `json:"run,omitempty"`     // name of the run
	OnLoss  string        `json:"on_worker_loss,omitempty"`
	Wait    time.Duration `json:"wait_ns,omitempty"` // for workers to join
	NATS    NATS          `json:"nats,omitzero"`
}

// NATS is how to connect to NATS.
type NATS struct {
	URL   string `json:"url,omitempty"`
	Creds string `json:"creds_file,omitempty"`
	NKey  string `json:"nkey_file,omitempty"`
	CA    string `json:"ca_file,omitempty"`
	Cert  string `json:"cert_file,omitempty"`
	Key   string `json:"key_file,omitempty"`
}

// The values of --on-worker-loss, and the default address of NATS.
const (
	ContinueOnLoss = "continue"
	StopOnLoss     = "stop"
	AllWorkers     = "all"
	NATSAddress    = "nats://127.0.0.1:4222"
)

// MostWorkers limits the workers of a run: with more, their blocks of records would come too rarely to see that one is lost.
const MostWorkers = 10_000

// DefaultFleet is what holds when no option is given.
func DefaultFleet() Fleet {
	return Fleet{OnLoss: ContinueOnLoss, Wait: time.Minute, NATS: NATS{URL: NATSAddress}}
}

// Rows are the options that set f.
func (f *Fleet) Rows() []option.Row {
	return slices.Concat(option.Group("Fleet", []option.Row{
		{Long: "workers", Arg: "N|all", Help: "have N free workers, or all of them, make the load, each an exact share; start them with 'redline worker'", To: option.Parsed(&f.Workers, workers)},
		{Long: "on-worker-loss", Arg: "HOW", Help: "when a worker is lost: continue without its share and mark the result, or stop the run", To: option.OneOf(&f.OnLoss, ContinueOnLoss, StopOnLoss)},
		{Long: "run-name", Arg: "NAME", Help: "name of the run, by which 'redline attach' finds it", Default: "a random one", To: option.Text(&f.Run)},
		{Long: "worker-wait", Arg: "TIME", Help: "how long to wait for N workers to join", To: option.Time(&f.Wait, time.Second)},
	}), f.NATS.Rows("or embedded, which starts a server in this process on the loopback address; embedded://USER:PASSWORD@HOST:PORT lets other machines in"))
}

// Rows are the options that set n. more completes the help of the address.
func (n *NATS) Rows(more string) []option.Row {
	help := "address of the NATS server"
	if more != "" {
		help += ", " + more
	}
	return option.Group("Fleet", []option.Row{
		{Long: "nats", Arg: "URL", Help: help, Secret: secret.URL, To: option.Text(&n.URL)},
		{Long: "nats-creds", Arg: "FILE", Help: "credentials file of a NATS user", To: option.Text(&n.Creds)},
		{Long: "nats-nkey", Arg: "FILE", Help: "file with the NKey seed of a NATS user", To: option.Text(&n.NKey)},
		{Long: "nats-ca", Arg: "FILE", Help: "certificate authority of the NATS server; with embedded, of its clients", To: option.Text(&n.CA)},
		{Long: "nats-cert", Arg: "FILE", Help: "certificate for TLS with NATS, of this client or of the embedded server", To: option.Text(&n.Cert)},
		{Long: "nats-key", Arg: "FILE", Help: "private key of --nats-cert", To: option.Text(&n.Key)},
	})
}

func workers(v string) (string, error) {
	if v == AllWorkers {
		return v, nil
	}
	if n, err := strconv.Atoi(v); err != nil || n < 1 || n > MostWorkers {
		return "", fmt.Errorf("is a number of workers from 1 to %d, or all, not %q", MostWorkers, v)
	}
	return v, nil
}

// Check refuses options of a fleet that are given without --workers. given tells whether an option was given.
func (f *Fleet) Check(given func(name string) bool) error {
	if f.Workers != "" {
		return nil
	}
	for _, row := range f.Rows() {
		if given(row.Long) {
			return fmt.Errorf("--%s is for --workers, which says how many workers make the load", row.Long)
		}
	}
	return nil
}

// Wanted is how many workers the run needs; 0 takes all.
func (f *Fleet) Wanted() int {
	n, _ := strconv.Atoi(f.Workers)
	return n
}

// reference is a value that a machine takes from its own environment or files.
var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{(env|file):([^}]*)\}`) })

// Withhold splits the plan for other machines into what everybody may read, and the secrets. Values whose secrets are references to
// the environment or to files of the other machine stay. names are the options that gave the secrets.
func (p *Plan) Withhold() (public *Plan, secrets, names []string) {
	public, list := p.carriers()
	secrets = make([]string, len(list))
	for i, c := range list {
		if c.public == *c.value || refers(c) {
			continue
		}
		secrets[i], *c.value = *c.value, c.public
		names = append(names, c.option)
	}
	if names == nil {
		secrets = nil
	}
	return public, secrets, names
}

// scheme is a word beside a reference that is no secret: the scheme of an Authorization header.
var scheme = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z]{0,16}$`) })

// refers tells whether every secret of a value is a reference. Beside the reference of a header there may be one word. In an address,
// the password, or the user without one, and each value of the query must be references.
func refers(c carrier) bool {
	const ref = "\x00" // stands for a reference, which may contain any character
	text := reference().ReplaceAllString(*c.value, ref)
	switch {
	case text == *c.value, c.option == "--embedded-arg":
		return false
	case c.public == secret.Mask:
		return scheme().MatchString(strings.TrimSpace(strings.ReplaceAll(text, ref, "")))
	}
	address, query, asks := strings.Cut(text, "?")
	if i := strings.LastIndexByte(address, '@'); i >= 0 {
		if user := address[:i]; user[strings.LastIndexAny(user, ":/")+1:] != ref {
			return false
		}
	}
	for pair := range strings.SplitSeq(query, "&") {
		if _, value, _ := strings.Cut(pair, "="); asks && value != ref {
			return false
		}
	}
	return true
}

// Restore puts the secrets back, and the values of this machine in the place of references.
func (p *Plan) Restore(secrets []string, getenv func(string) string) (*Plan, error) {
	c, list := p.carriers()
	for i, s := range list {
		if i < len(secrets) && secrets[i] != "" {
			*s.value = secrets[i]
		}
		value, err := resolve(*s.value, getenv)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.option, err)
		}
		*s.value = value
	}
	return c, nil
}

// CollectSecrets adds the values of the plan that can carry secrets to a set.
func (p *Plan) CollectSecrets(s *secret.Set) {
	t := &p.Target
	s.Collect(secret.URL, t.URL)
	s.Collect(secret.URL, t.Endpoint)
	for _, h := range t.Headers {
		s.Collect(secret.Header, h.Name+": "+h.Value)
	}
	for _, v := range t.Parameters {
		s.Collect(secret.Pair, v.Name+":"+v.Value)
	}
}

func resolve(text string, getenv func(string) string) (string, error) {
	var failed error
	out := reference().ReplaceAllStringFunc(text, func(ref string) string {
		parts := reference().FindStringSubmatch(ref)
		if parts[1] == "env" {
			v := getenv(parts[2])
			if v == "" {
				failed = fmt.Errorf("the environment variable %s is not set on this machine", parts[2])
			}
			return v
		}
		b, err := os.ReadFile(parts[2])
		if err != nil {
			failed = err
		}
		return strings.TrimSpace(string(b))
	})
	return out, failed
}
