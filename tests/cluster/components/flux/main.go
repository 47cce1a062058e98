// Flux's own library as a program: it applies one manifest, compares it with the object, and corrects drift.
//
// Each line of its input is a question in JSON, each line of its output the answer. The API server is that of
// KUBECONFIG. Its options are those of kustomize-controller (internal/controller/kustomization_controller.go,
// apply) and of helm-controller (internal/action/diff.go, Diff and ApplyDiff).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/jsondiff"
	"github.com/fluxcd/pkg/ssa/normalize"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	kustomize = "kustomize-controller"
	helm      = "helm-controller"
)

// question is one line of the input. Ignore are JSON pointers: spec.ignore, or driftDetection.ignore. Correct is
// driftDetection.mode: enabled instead of warn.
type question struct {
	Verb    string         `json:"verb"`
	Target  map[string]any `json:"target"`
	Ignore  []string       `json:"ignore"`
	Correct bool           `json:"correct"`
}

// answer is one line of the output: what was done or would be, from what to what, or by which patch.
type answer struct {
	Action    string          `json:"action,omitempty"`
	Live      map[string]any  `json:"live,omitempty"`
	Predicted map[string]any  `json:"predicted,omitempty"`
	Patch     json.RawMessage `json:"patch,omitempty"`
	Error     string          `json:"error,omitempty"`
}

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.WarningHandler = rest.NoWarnings{}
	there, err := client.New(config, client.Options{})
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
		said, err := answered(context.Background(), there, line)
		if err != nil {
			said = answer{Error: err.Error()}
		}
		if err := json.NewEncoder(out).Encode(said); err != nil {
			return err
		}
	}
}

func answered(ctx context.Context, there client.Client, line []byte) (answer, error) {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{}, err
	}
	target := &unstructured.Unstructured{Object: asked.Target}
	if err := normalize.Unstructured(target); err != nil {
		return answer{}, err
	}
	manager := ssa.NewResourceManager(there, nil, ssa.Owner{Field: kustomize, Group: "kustomize.toolkit.fluxcd.io"})
	switch asked.Verb {
	case "diff":
		found, live, predicted, err := manager.Diff(ctx, target, ssa.DiffOptions{DriftIgnoreRules: rules(asked.Ignore)})
		said := entry(found)
		if live != nil && predicted != nil {
			said.Live, said.Predicted = live.Object, predicted.Object
		}
		return said, err
	case "apply":
		found, err := manager.Apply(ctx, target, options(asked.Ignore))
		return entry(found), err
	case "drift":
		return drift(ctx, there, target, asked)
	}
	return answer{}, fmt.Errorf("no such verb: %q", asked.Verb)
}

func entry(found *ssa.ChangeSetEntry) answer {
	if found == nil {
		return answer{}
	}
	return answer{Action: string(found.Action)}
}

func rules(ignore []string) []jsondiff.IgnoreRule {
	if len(ignore) == 0 {
		return nil
	}
	return []jsondiff.IgnoreRule{{Paths: ignore}}
}

// options are those of kustomize-controller: it takes over what kubectl applied.
func options(ignore []string) ssa.ApplyOptions {
	chosen := ssa.DefaultApplyOptions()
	chosen.DriftIgnoreRules = rules(ignore)
	chosen.Cleanup = ssa.ApplyCleanupOptions{
		Annotations: []string{corev1.LastAppliedConfigAnnotation},
		FieldManagers: []ssa.FieldManager{
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationApply},
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: "before-first-apply", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: kustomize, OperationType: metav1.ManagedFieldsOperationUpdate},
		},
	}
	return chosen
}

// drift is the drift detection of helm-controller, and its correction.
func drift(ctx context.Context, there client.Client, target *unstructured.Unstructured, asked question) (answer, error) {
	found, err := jsondiff.Unstructured(
		ctx, there, target, jsondiff.FieldOwner(helm), jsondiff.Rationalize(true), jsondiff.IgnorePaths(asked.Ignore),
	)
	if err != nil || found.Type != jsondiff.DiffTypeUpdate {
		return answer{Action: string(found.Type)}, err
	}
	patch, err := json.Marshal(found.Patch)
	if err != nil {
		return answer{}, err
	}
	if asked.Correct {
		err = there.Patch(ctx, target, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(helm))
	}
	return answer{Action: string(found.Type), Patch: patch}, err
}
