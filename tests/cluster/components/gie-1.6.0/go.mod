module fusioninfer.io/testbed/gie-1.6.0

go 1.24.0

require sigs.k8s.io/gateway-api-inference-extension v1.6.0
