"""`fusioninfer check`: whether a cluster has what FusionInfer needs, and whether FusionInfer works in it.

`collect` reads, `facts` is what was read, and each check is one row of a table: claim, judgement, remedy.
"""
