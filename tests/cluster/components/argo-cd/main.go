// Argo CD's own engine as a program: it compares one object with its manifest, synchronizes it, and finds its children.
//
// Each line of its input is a question in JSON, each line of its output the answer. The API server is that of
// KUBECONFIG. What Argo CD's application controller does around the engine is repeated here (controller/state.go,
// controller/sync.go and util/argo/diff of Argo CD): which options it passes, in which order it normalizes.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubectl/pkg/util/openapi"
)

// manager owns what Argo CD applies, server-side and client-side.
const manager = "argocd-controller"

// question is one line of the input. Target is the manifest in git, live the stored object; each may be absent.
type question struct {
	Verb    string         `json:"verb"`
	Target  map[string]any `json:"target"`
	Live    map[string]any `json:"live"`
	Options options        `json:"options"`
}

// options are those of an Application that concern us: compare options, sync options, ignored differences.
type options struct {
	ServerSideDiff           bool     `json:"serverSideDiff"`
	IncludeMutationWebhook   bool     `json:"includeMutationWebhook"`
	ServerSideApply          bool     `json:"serverSideApply"`
	Replace                  bool     `json:"replace"`
	RespectIgnoreDifferences bool     `json:"respectIgnoreDifferences"`
	JSONPointers             []string `json:"jsonPointers"`
	ManagedFieldsManagers    []string `json:"managedFieldsManagers"`
}

// engine is what a question needs of the API server: read once, as Argo CD keeps it.
type engine struct {
	config  *rest.Config
	kubectl *kube.KubectlCmd
	schema  openapi.Resources
	parser  *managedfields.GvkParser
}

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer) error {
	there, err := connect(os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := json.NewEncoder(out).Encode(there.answer(line)); err != nil {
			return err
		}
	}
}

func connect(kubeconfig string) (*engine, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 50, 100 // Argo CD's own limits
	config.WarningHandler = rest.NoWarnings{}
	kubectl := &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
	schema, parser, err := kubectl.LoadOpenAPISchema(config)
	if err != nil {
		return nil, err
	}
	return &engine{config, kubectl, schema, parser}, nil
}

// answer returns what is to be printed: the answer to a question, or why there is none.
func (e *engine) answer(line []byte) any {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return failure(err)
	}
	target, live := object(asked.Target), object(asked.Live)
	answers := map[string]func() (any, error){
		"diff":     func() (any, error) { return e.compare(target, live, asked.Options) },
		"sync":     func() (any, error) { return e.synchronize(target, live, asked.Options) },
		"children": func() (any, error) { return e.children(target) },
	}
	found, known := answers[asked.Verb]
	if !known {
		return failure(fmt.Errorf("no such verb: %q", asked.Verb))
	}
	answer, err := found()
	if err != nil {
		return failure(err)
	}
	return answer
}

func failure(err error) any {
	return map[string]string{"error": err.Error()}
}

func object(value map[string]any) *unstructured.Unstructured {
	if value == nil {
		return nil
	}
	return &unstructured.Unstructured{Object: value}
}
