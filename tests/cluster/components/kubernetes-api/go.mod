module fusioninfer.io/testbed/kubernetes-api

go 1.25.0

require k8s.io/kubernetes v1.35.4
