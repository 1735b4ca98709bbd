package dynamicgrpc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/grpcpool"
)

// method is what is known of a method.
type method struct {
	desc  protoreflect.MethodDescriptor
	types *dynamicpb.Types // finds what stands inside of an Any, and extensions
}

// find looks a method up by package.Service/Method. It returns nil when the files do not hold it.
func find(in *protoregistry.Files, name string) (protoreflect.MethodDescriptor, error) {
	svc, short, _ := strings.Cut(name, "/")
	d, err := in.FindDescriptorByName(protoreflect.FullName(svc))
	if errors.Is(err, protoregistry.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sd, ok := d.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is not a service", svc)
	}
	m := sd.Methods().ByName(protoreflect.Name(short))
	if m == nil {
		return nil, fmt.Errorf("service %s has no method %s: it has %s", svc, short, methodNames(sd))
	}
	return m, nil
}

func methodNames(sd protoreflect.ServiceDescriptor) string {
	var names []string
	for i := range sd.Methods().Len() {
		names = append(names, string(sd.Methods().Get(i).Name()))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// compile finds a method in .proto files. Each file is compiled on its own, because two files may name the same import
// differently.
func compile(ctx context.Context, paths []string, name string) (*method, error) {
	for _, path := range paths {
		files, err := load(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("--proto %s: %w; correct the file or its path, or omit --proto if the server has gRPC reflection", path, err)
		}
		m, err := find(files, name)
		if err != nil {
			return nil, fmt.Errorf("--proto %s: %w", path, err)
		}
		if m != nil {
			return &method{m, dynamicpb.NewTypes(files)}, nil
		}
	}
	svc, _, _ := strings.Cut(name, "/")
	return nil, fmt.Errorf("no service %s in %s: --grpc-method is package.Service/Method", svc, strings.Join(paths, ", "))
}

// load compiles a .proto file and its imports. An import is searched in the folder of the file and in all folders above.
func load(ctx context.Context, path string) (*protoregistry.Files, error) {
	source := &protocompile.SourceResolver{ImportPaths: roots(path)}
	named := protocompile.ResolverFunc(func(name string) (protocompile.SearchResult, error) {
		file, err := source.FindFileByPath(name)
		if errors.Is(err, fs.ErrNotExist) { // the library would name the last folder alone
			err = fmt.Errorf("no file %s in %s or a folder above", name, filepath.Dir(path))
		}
		return file, err
	})
	c := protocompile.Compiler{Resolver: protocompile.WithStandardImports(named)}
	compiled, err := c.Compile(ctx, filepath.Base(path))
	if err != nil {
		if text := err.Error(); strings.Contains(text, "$end") { // the name of the end of the file in the library's grammar
			err = errors.New(strings.ReplaceAll(text, "$end", "end of file"))
		}
		return nil, err
	}
	files := &protoregistry.Files{}
	return files, register(files, compiled[0])
}

// register adds a file after those that it imports.
func register(files *protoregistry.Files, f protoreflect.FileDescriptor) error {
	if _, err := files.FindFileByPath(f.Path()); err == nil {
		return nil
	}
	for i := range f.Imports().Len() {
		if err := register(files, f.Imports().Get(i).FileDescriptor); err != nil {
			return err
		}
	}
	return files.RegisterFile(f)
}

// roots are the folders in which the imports of a file may be found, nearest first.
func roots(path string) []string {
	dir := filepath.Dir(path)
	out := []string{dir}
	for up := filepath.Dir(dir); up != dir; up = filepath.Dir(dir) {
		out = append(out, up)
		dir = up
	}
	return out
}

// opReflect is the operation of errors of the reflection client.
const opReflect = "reflection"

// reflector asks a server's reflection service for descriptors.
type reflector struct {
	at    *grpcpool.Server
	path  string
	files map[string]*descriptorpb.FileDescriptorProto
}

// The two names under which servers offer reflection; the messages are the same.
const (
	reflectV1    = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
	reflectAlpha = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
)

// unimplemented is the gRPC code of a method that a server does not have.
const unimplemented = 12

// reflect has the server describe a method.
func reflect(ctx context.Context, at *grpcpool.Server, name string) (*method, error) {
	svc, _, _ := strings.Cut(name, "/")
	r := &reflector{at: at, path: reflectV1, files: map[string]*descriptorpb.FileDescriptorProto{}}
	bySymbol := &reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: svc},
	}
	err := r.ask(ctx, bySymbol)
	if e, ok := errors.AsType[*service.Error](err); ok && e.Code == unimplemented {
		r.path = reflectAlpha
		if err = r.ask(ctx, bySymbol); err != nil {
			return nil, fmt.Errorf("%s does not describe itself (no gRPC reflection): name the .proto file of %s with --proto", at.Addr(), svc)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := r.complete(ctx); err != nil {
		return nil, err
	}
	set := &descriptorpb.FileDescriptorSet{}
	for _, f := range r.files {
		set.File = append(set.File, f)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("the descriptors that %s sent do not fit together: %w", at.Addr(), err)
	}
	m, err := find(files, name)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, fmt.Errorf("%s did not describe service %s", at.Addr(), svc)
	}
	return &method{m, dynamicpb.NewTypes(files)}, nil
}

// ask makes one request and keeps the files of the answer.
func (r *reflector) ask(ctx context.Context, req *reflection.ServerReflectionRequest) error {
	var resp reflection.ServerReflectionResponse
	if err := r.at.Call(ctx, opReflect, r.path, req, &resp); err != nil {
		return err
	}
	if e := resp.GetErrorResponse(); e != nil {
		return fmt.Errorf("%s, asked to describe the method, answers: %s", r.at.Addr(), e.GetErrorMessage())
	}
	for _, raw := range resp.GetFileDescriptorResponse().GetFileDescriptorProto() {
		f := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(raw, f); err != nil {
			return fmt.Errorf("reflection: a descriptor is malformed: %w", err)
		}
		r.files[f.GetName()] = f
	}
	return nil
}

// complete asks for imports until none is missing.
func (r *reflector) complete(ctx context.Context) error {
	for {
		missing := r.missing()
		if missing == "" {
			return nil
		}
		err := r.ask(ctx, &reflection.ServerReflectionRequest{
			MessageRequest: &reflection.ServerReflectionRequest_FileByFilename{FileByFilename: missing},
		})
		if err != nil {
			return err
		}
		if r.files[missing] == nil {
			return fmt.Errorf("reflection: %s does not send %s, which its descriptors import", r.at.Addr(), missing)
		}
	}
}

func (r *reflector) missing() string {
	for _, f := range r.files {
		for _, dep := range f.GetDependency() {
			if r.files[dep] == nil {
				return dep
			}
		}
	}
	return ""
}
