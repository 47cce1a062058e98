// Kubernetes' strategic merge as a program: each line of its input has a pod template and a patch for it in JSON,
// each line of its output the merged template, as `kubectl patch --type strategic` would have the API server make it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

type question struct {
	Base json.RawMessage `json:"base"`
	Over json.RawMessage `json:"over"`
}

type answer struct {
	Merged json.RawMessage `json:"merged,omitempty"`
	Error  string          `json:"error,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		if err := out.Encode(merge(lines.Bytes())); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func merge(line []byte) answer {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{Error: err.Error()}
	}
	merged, err := strategicpatch.StrategicMergePatch(asked.Base, asked.Over, corev1.PodTemplateSpec{})
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Merged: merged}
}
