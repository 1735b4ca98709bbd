//go:build linux

package fleet_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit"
)

// access is how a NATS server lets clients in.
type access struct {
	name   string
	scheme string
	conf   string   // of nats-server
	give   []string // options of a client that is let in
	wrong  []string // options of one that is not
	says   string   // what that one prints
}

// Workers and a coordinator with credentials files, NKeys or client certificates make a run on a nats-server that demands them. Others get one line.
func TestAccessToNATS(t *testing.T) {
	t.Parallel()
	server, err := binary.StartServer(t.TempDir(), bin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	for _, a := range []access{byCredentials(t), byNKey(t), byCertificate(t)} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			listen := testkit.Port(t)
			conf := write(t, "nats.conf", fmt.Sprintf("listen: %q\njetstream: { store_dir: %q }\n%s", listen, t.TempDir(), a.conf))
			start(t, natsServer, filepath.Join(self, natsServer), "-c", conf).await(t, "Server is ready")
			l := &lab{address: a.scheme + "://" + listen, server: server, options: a.give}
			l.worker(t, "w1", l.address)
			l.worker(t, "w2", l.address)
			file := filepath.Join(t.TempDir(), "r.json")
			l.profile(t, "--request-rate-range", "200", "--request-count", "200", "--json", file).wait(t)
			if res := readResult(t, file); len(res.Levels) != 1 || res.Levels[0].Client.Requests != 200 {
				t.Errorf("the run measured something else than its 200 requests: %s", res.Error)
			}
			for _, args := range [][]string{{"worker"}, {"profile", "-m", "simple", "-u", server.HTTP, "--workers", "1", "--no-history"}} {
				p := start(t, args[0], filepath.Join(bin, "redline"), append(append(args, "--nats", l.address), a.wrong...)...)
				code, lines := p.wait(t), strings.Split(strings.TrimSpace(p.stderr.String()), "\n")
				if last := lines[len(lines)-1]; code != 99 || !strings.Contains(last, a.says) { // a worker may say before that it waits for NATS
					t.Errorf("exit code %d, %q, want %q", code, last, a.says)
				}
			}
		})
	}
}

// byCredentials is a server in operator mode: users have JSON Web Tokens, which an account signs, which the operator signs.
func byCredentials(t *testing.T) access {
	t.Helper()
	operator, account, system, user := pair(t, nkeys.CreateOperator), pair(t, nkeys.CreateAccount), pair(t, nkeys.CreateAccount), pair(t, nkeys.CreateUser)
	op := jwt.NewOperatorClaims(public(t, operator))
	op.SystemAccount = public(t, system)
	acc := jwt.NewAccountClaims(public(t, account))
	acc.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	credentials := func(signer nkeys.KeyPair) string {
		seed, err := user.Seed()
		if err != nil {
			t.Fatal(err)
		}
		text, err := jwt.FormatUserConfig(sign(t, jwt.NewUserClaims(public(t, user)), signer), seed)
		if err != nil {
			t.Fatal(err)
		}
		return write(t, "user.creds", string(text))
	}
	conf := fmt.Sprintf("operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: { %s: %s, %s: %s }\n", sign(t, op, operator), public(t, system),
		public(t, account), sign(t, acc, operator), public(t, system), sign(t, jwt.NewAccountClaims(public(t, system)), operator))
	return access{
		name: "credentials file", scheme: "nats", conf: conf, give: []string{"--nats-creds", credentials(account)},
		wrong: []string{"--nats-creds", credentials(pair(t, nkeys.CreateAccount))}, says: "refuses these credentials: check the user and password in --nats, --nats-creds",
	}
}

// byNKey is a server that knows the public key of a user.
func byNKey(t *testing.T) access {
	t.Helper()
	seed := func(user nkeys.KeyPair) string {
		s, err := user.Seed()
		if err != nil {
			t.Fatal(err)
		}
		return write(t, "user.nk", string(s)+"\n")
	}
	user := pair(t, nkeys.CreateUser)
	return access{
		name: "NKey", scheme: "nats", conf: fmt.Sprintf("authorization: { users: [{ nkey: %s }] }\n", public(t, user)), give: []string{"--nats-nkey", seed(user)},
		wrong: []string{"--nats-nkey", seed(pair(t, nkeys.CreateUser))}, says: "refuses these credentials",
	}
}

// byCertificate is a server that demands a certificate of each client.
func byCertificate(t *testing.T) access {
	t.Helper()
	cert, _ := testkit.Certificate(t, "localhost")
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certFile := write(t, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})))
	keyFile := write(t, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	return access{
		name: "client certificate", scheme: "tls", conf: fmt.Sprintf("tls: { cert_file: %q, key_file: %q, ca_file: %q, verify: true }\n", certFile, keyFile, certFile),
		give: []string{"--nats-ca", certFile, "--nats-cert", certFile, "--nats-key", keyFile}, wrong: []string{"--nats-ca", certFile}, says: "--nats-cert and --nats-key",
	}
}

func pair(t *testing.T, create func() (nkeys.KeyPair, error)) nkeys.KeyPair {
	t.Helper()
	k, err := create()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func public(t *testing.T, k nkeys.KeyPair) string {
	t.Helper()
	text, err := k.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func sign(t *testing.T, claims interface {
	Encode(by nkeys.KeyPair) (string, error)
}, by nkeys.KeyPair,
) string {
	t.Helper()
	text, err := claims.Encode(by)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// write makes a file of its own folder.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
