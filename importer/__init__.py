"""Objects of other systems as ours, with a report on each of their fields. Pure.

`leaves`    the leaves of an object, and trees that carry their origins
`stored`    the parts of an object that no manifest has
`report`    what became of each leaf; text and JSON
`table`     the importers by group and kind: `kserve`, `llmd`, `lws` and `upstream`
`launches`  launches that authors wrote for themselves, as the plain command of one node
`script`    the commands of a shell's script, as each pod of a group runs them
`gotemplate`  Go's templates, as far as these systems use them
"""
