"""`fusioninfer diff`: what files would change in a cluster, in their own objects and in the controller's.

`propose` asks the API server for dry runs, `plan` decides what to ask for, `change` compares and renders.
"""
