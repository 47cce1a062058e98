module fusioninfer.io/testbed/kserve-samples

go 1.26.0

require github.com/kserve/kserve v0.20.0
