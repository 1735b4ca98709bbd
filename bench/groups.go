package main

import "context"

// group is a set of rows that are measured together. A new one is a file with its function, and a line below.
type group struct {
	name string
	run  func(ctx context.Context, e *env) error
}

var groups = []group{
	{"CPU per request", cpuRows},
	{"many cores", coreRows},
	{"growth", growthRows},
	{"real Triton", tritonRows},
	{"telemetry", telemetryRows},
	{"fleet", fleetRows},
	{"memory", memoryRows},
	{"start", startRows},
	{"open loop", openRows},
	{"streamed tokens, CPU", streamRows},
	{"many streams", manyStreamRows},
	{"streamed tokens, truth", truthRows},
	{"streamed tokens over shared connections, truth", sharedRows},
	{"language models, truth", llmRows},
	{"Triton in process", capiRows},
	{"tokenizer", tokenizerRows},
}
