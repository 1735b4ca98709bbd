package flags

import "github.com/redline-bench/redline/internal/option"

// otherRows are options of other load tools that redline profile does not have; the error says what to write. Names that
// people expect of any program, such as --model, are among them.
func otherRows() []option.Row {
	var rows []option.Row
	add := func(short byte, names, instead string) {
		rows = append(rows, option.Row{Short: short, Also: names, RedlineOnly: true, Instead: instead})
	}
	add(0, "model model-name", "is written -m MODEL")
	add(0, "model-version", "is written -x VERSION")
	add(0, "url address", "is written -u HOST:PORT")
	add(0, "protocol", "is written -i grpc or -i http")
	add(0, "batch-size", "is written -b N")
	add(0, "header headers metadata", "is written -H 'NAME: VALUE'")
	add(0, "csv filename", "is written -f FILE")
	add(0, "verbose", "is written -v")
	add(0, "output-file out", "is written --json FILE for the result, -f FILE for a CSV report")
	add(0, "vus clients users max-workers", "is an option of other load tools; use --concurrency-range N for requests in flight")
	add(0, "rate rps qps request-per-second", "is an option of other load tools; use --request-rate-range N for requests per second")
	add('n', "iterations total num-requests requests", "is an option of other load tools; use --request-count N for a fixed number of requests")
	add('q', "", "is oha's rate; use --request-rate-range N for requests per second")
	add(0, "stage", "is an option of k6; use --stages \"10:30s,10-50:1m\" for rates that follow one another")
	add(0, "targets body body-file data data-file", "is an option of other load tools; give the requests with --input-data FILE and the server with -u")
	add(0, "timeout", "is an option of other load tools; use --request-timeout 30s")
	add(0, "call", "is an option of ghz; use --service-kind dynamic_grpc --grpc-method PKG.SERVICE/METHOD")
	add(0, "insecure", "is an option of other load tools; gRPC is plain unless --ssl-grpc-use-ssl is given, HTTPS takes --ssl-https-verify-peer 0")
	add(0, "cacert", "is an option of other load tools; use --ssl-https-ca-certificates-file or --ssl-grpc-root-certifications-file")
	add(0, "threshold thresholds", "is an option of other load tools; use --assert 'p99<50ms'")
	return rows
}
