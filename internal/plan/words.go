package plan

// Words are the words that a plan has for its modes and kinds.
func Words() []string {
	return []string{
		string(Triton), string(OpenAI), string(TFServing), string(TorchServe), string(TritonCAPI), string(DynamicGRPC),
		string(HTTP), string(GRPC),
		string(Auto), string(Sync), string(Async),
		string(Concurrency), string(RequestRate), string(CustomIntervals), string(PeriodicConcurrency), string(SessionConcurrency), string(FixedSchedule),
		string(Linear), string(Binary), string(Single),
		string(Constant), string(Poisson),
		string(Random), string(Zero), string(Directory), string(JSONFiles),
		string(BinaryTensors), string(JSONTensors), string(NeedExtensions), string(NoExtensions),
		string(NoSharedMemory), string(SystemSharedMemory), string(CUDASharedMemory),
		string(TimeWindows), string(CountWindows), string(NamesOfTensors), string(NamesOfInputs),
	}
}
