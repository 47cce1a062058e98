"""`fusioninfer why`: what keeps a service from serving, the dominant cause first.

`read` reads, `case` judges what was read with the controller's functions, and each layer of `causes` adds
what a status cannot say.
"""
