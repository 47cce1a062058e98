// The merge of llm-d's ModelService as a program: each line of its input has an object of a BaseConfig, the one that
// the ModelService wants over it, and their kind, in JSON; each line of its output has the merged object.
//
// The library is mergo, at the version of llm-d-model-service (go.mod: dario.cat/mergo v1.0.1). Its options and what
// replaces its rules for some lists follow internal/controller of that project: mergePDDeployment, mergePDService and
// mergeHTTPRoute in child_resources.go, and merge_transformers.go.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	"dario.cat/mergo"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

type question struct {
	Kind string          `json:"kind"`
	Base json.RawMessage `json:"base"`
	Over json.RawMessage `json:"over"`
}

type answer struct {
	Merged any    `json:"merged,omitempty"`
	Error  string `json:"error,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var made answer
		merged, err := merge(lines.Bytes())
		if made.Merged = merged; err != nil {
			made = answer{Error: err.Error()}
		}
		if err := out.Encode(made); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func merge(line []byte) (any, error) {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	switch asked.Kind {
	case "Deployment":
		return over[appsv1.Deployment](asked, mergo.WithAppendSlice, mergo.WithTransformers(containers))
	case "Service":
		return over[corev1.Service](asked)
	case "HTTPRoute":
		return over[gatewayv1.HTTPRoute](asked, mergo.WithAppendSlice, mergo.WithTransformers(parents))
	}
	return nil, fmt.Errorf("no such kind: %q", asked.Kind)
}

// over merges the second object of a question over the first. An empty value never wins.
func over[T any](asked question, options ...func(*mergo.Config)) (any, error) {
	base, wanted := new(T), new(T)
	if err := json.Unmarshal(asked.Base, base); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(asked.Over, wanted); err != nil {
		return nil, err
	}
	return base, mergo.Merge(base, wanted, append(options, mergo.WithOverride)...)
}

// rules has what replaces mergo's own merge, by type.
type rules map[reflect.Type]func(base, over reflect.Value) error

// Transformer returns the rule of a type.
func (known rules) Transformer(kind reflect.Type) func(base, over reflect.Value) error {
	return known[kind]
}

var (
	inContainers = rules{
		reflect.TypeFor[[]string](): prepend,
		reflect.TypeFor[[]corev1.EnvVar](): byName(
			func(one corev1.EnvVar) string { return one.Name },
			func(base *corev1.EnvVar, over corev1.EnvVar) error {
				return mergo.Merge(base, over, mergo.WithOverride)
			},
		),
	}
	containers = rules{reflect.TypeFor[[]corev1.Container](): byName(
		func(one corev1.Container) string { return one.Name }, mergeContainer,
	)}
	parents = rules{reflect.TypeFor[[]gatewayv1.ParentReference](): byName(
		func(one gatewayv1.ParentReference) string { return string(one.Name) },
		func(base *gatewayv1.ParentReference, over gatewayv1.ParentReference) error {
			return mergo.Merge(base, over, mergo.WithOverride, mergo.WithAppendSlice)
		},
	)}
)

// mergeContainer replaces the command as a whole: else it would be put before that of the base.
func mergeContainer(base *corev1.Container, over corev1.Container) error {
	if len(over.Command) > 0 {
		base.Command = []string{}
	}
	return mergo.Merge(base, over, mergo.WithOverride, mergo.WithAppendSlice, mergo.WithTransformers(inContainers))
}

// prepend puts the texts of a list before those of its base.
func prepend(base, over reflect.Value) error {
	if base.CanSet() && over.Len() > 0 {
		base.Set(reflect.AppendSlice(over, base))
	}
	return nil
}

// byName returns the rule of a list: each item of the base is merged with the last one of its name, others follow.
func byName[T any](name func(T) string, merge func(base *T, over T) error) func(base, over reflect.Value) error {
	return func(base, over reflect.Value) error {
		given := over.Interface().([]T)
		last, merged, matched := map[string]T{}, []T{}, map[string]bool{}
		for _, one := range given {
			last[name(one)] = one
		}
		for _, one := range base.Interface().([]T) {
			if other, ok := last[name(one)]; ok {
				if err := merge(&one, other); err != nil {
					return err
				}
				matched[name(one)] = true
			}
			merged = append(merged, one)
		}
		for _, one := range given {
			if !matched[name(one)] {
				merged = append(merged, one)
			}
		}
		base.Set(reflect.ValueOf(merged))
		return nil
	}
}
