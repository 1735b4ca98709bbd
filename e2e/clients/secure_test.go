package clients_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/redline-bench/redline/e2e/certs"
)

// Real clients speak TLS with every port, present a token, and where the server requests it a certificate.
func TestSecurePorts(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	modules := python(t)
	a := &certs.Authority{Dir: t.TempDir()}
	ca, _ := a.Issue(t, "authority")
	serverCert, serverKey := a.Issue(t, "server")
	clientCert, clientKey := a.Issue(t, "client")
	for name, c := range map[string]struct {
		options []string
		files   map[string]string
	}{
		"TLS":        {nil, map[string]string{"ca": ca}},
		"mutual TLS": {[]string{"--tls-client-ca", ca}, map[string]string{"ca": ca, "cert": clientCert, "key": clientKey}},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, append([]string{"--tls-cert", serverCert, "--tls-key", serverKey, "--bearer-token", "sesame"}, c.options...)...)
			addresses, err := json.Marshal(s.Ports)
			if err != nil {
				t.Fatal(err)
			}
			files, err := json.Marshal(c.files)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "python3", "run.py", "secure")
			cmd.Dir = "scripts"
			cmd.Env = append(os.Environ(), "PYTHONPATH="+modules, "ADDRESSES="+string(addresses), "CERTIFICATES="+string(files), "TOKEN=sesame")
			out, err := cmd.CombinedOutput()
			report(t, out)
			if err != nil && !t.Failed() {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
