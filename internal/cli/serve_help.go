package cli

// serveHelp explains `redline serve`; a test holds it against the options that there are.
const serveHelp = `Usage: redline serve [options]

Runs the reference server: a real inference server with small built-in models, whose delays can be
pinned. It speaks KServe v2 over HTTP and gRPC with Triton's extensions, and, on ports of their own,
OpenAI, TorchServe and TensorFlow Serving. When all ports listen it prints one line,
"ready" and the ports as JSON. It runs until it is interrupted.

Ports: where it listens
      --http-port PORT            KServe v2 over HTTP. 0 picks a free port, here and below.
                                  Default: 8000.
      --grpc-port PORT            KServe v2 over gRPC. Default: 8001.
      --metrics-port PORT         Prometheus text at /metrics. Default: 8002.
      --openai-port PORT          OpenAI, Anthropic messages, TGI generate and rerank. Default: 9000.
      --torchserve-port PORT      TorchServe. Default: 8080.
      --tfserving-port PORT       TensorFlow Serving over gRPC. Default: 8500.
                                  These three take a free port when theirs is in use, or when
                                  --http-port is 0, unless they are named.
      --http-address ADDRESS      The address of a port. There is one for each: --grpc-address,
      --grpc-address ADDRESS      --metrics-address, and so on. 0.0.0.0 lets other machines in.
      --metrics-address ADDRESS   Default: 127.0.0.1.
      --openai-address ADDRESS
      --torchserve-address ADDRESS
      --tfserving-address ADDRESS

Models: what it serves
      --model-repository DIR      A folder of models in Triton's layout: MODEL/config.pbtxt and
                                  MODEL/VERSION/. They come besides the built-in ones, over the
                                  backends identity, add_sub, accumulate, sequence, repeat, delay,
                                  mock_llm, fault and blank. May be repeated.
      --model-control-mode MODE   none loads all models and keeps them; explicit lets clients load
                                  and unload them. Default: none.
      --load-model MODEL          A model to load at the start in explicit mode; * is all of them.
                                  May be repeated.

Pace: how long answers take
      --delay MODEL=TIME          Every answer of the model leaves exactly this long after its
                                  request came, as simple=20ms: something to hold measurements
                                  against. torchserve is the model of that port. May be repeated.
      --ttft TIME                 Language models, which are on the OpenAI port and in tensorrt_llm:
                                  from a request to its first token. Default: 15ms.
      --itl TIME                  Between two tokens. Default: 5ms.
      --ttft-stddev TIME          Their deviations. Default: 0.
      --itl-stddev TIME
      --token-distribution NAME   constant, normal or lognormal. Default: normal where there are
                                  deviations.
      --prefill TIME              Added to the first token for each token of the prompt. Default: 0.
      --slowdown SHARE            Added to all of these times for each request in flight beyond
                                  --slowdown-above, as 0.1: the knee. Default: 0.
      --slowdown-above N          How many requests do not slow each other down. Default: 1.
      --seed N                    Makes scripted randomness repeat. Default: 0.
      --null                      Answer from memory, as fast as the machine can, without looking
                                  at the request: for benchmarks and calibration. Tokens have no
                                  pace unless --ttft or --itl are given.

Trouble: how it misbehaves
      --fault MODEL=KIND[,every=N][,for=TIME]
                                  The model misbehaves, at each request or at each n-th; * is every
                                  model. KIND is one of
                                    error      an error
                                    delay      waits, for 100ms or the time given
                                    hang       no answer
                                    reset      resets the connection
                                    truncate   ends the connection in the middle of the answer
                                    length     announces more than it sends
                                    malformed  bytes that are no JSON, no protobuf, no event
                                    slow       byte by byte, 10ms or the time given between two
                                    goaway     GOAWAY over HTTP/2, Connection: close over HTTP/1.1
                                    refuse     closes every new connection from then on
                                    die        ends the server
                                  A single request asks for one with the header X-Redline-Fault.
                                  May be repeated.

Security
      --tls-cert FILE             A certificate in PEM form: every port speaks TLS.
      --tls-key FILE              Its private key.
      --tls-client-ca FILE        The authority that clients' certificates must come from: mutual TLS.
      --bearer-token TOKEN        The token that requests must present, on every port.
      --http-max-input-size BYTES The largest JSON, raw body or unpacked body that the HTTP port takes.
                                  Default: 0, no limit.

Watching
      --request-log FILE          A JSON line for each answer: model, id, received_ns, replied_ns, and
                                  for a stream when each event left: events_ns, and how many tokens it
                                  had: tokens.
      --trace-config [triton,]SETTING=VALUE
                                  Traces as Triton writes them. SETTING is file, level (TIMESTAMPS
                                  or TENSORS), rate (every n-th request), count, or log-frequency
                                  (traces in a file). Clients may change all but the file. May be
                                  repeated.
      --simulate-gpus N           Pretend in the metrics that there are so many GPUs. Default: 0.
      --exit-with-parent          End when standard input ends.

Examples
  redline serve
      everything on the usual ports, for this machine only
  redline serve --http-port 0 --grpc-port 0 --metrics-port 0
      on free ports; the line "ready {...}" tells which
  redline serve --delay simple=20ms --request-log requests.jsonl
      a latency that is known, to hold a client's numbers against
  redline serve --model-repository my_models --model-control-mode explicit --load-model '*'
      models of one's own, which clients may load and unload
  redline serve --fault 'simple=reset,every=100'
      how does a client take a reset now and then?
  redline serve --trace-config file=trace.json --trace-config level=TIMESTAMPS --trace-config rate=1
      where the time of each request goes
`
