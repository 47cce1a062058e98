"""Objects of other systems as ours, with a report on each of their fields. Pure.

`table`      the importers in their order: `kserve`, `llmd` and `lws`
`leaves`     the leaves of an object, and trees that carry their origins
`account`    what the importers make: the output, and rules for what is left out
`report`     what became of each leaf; text and JSON
`script`     the commands of a shell's script, as each pod of a group runs them; which change nothing
`words`      their words, expanded as far as the pod tells
`launches`   launches that authors wrote for themselves, as the plain command of one node
`gotemplate` Go's templates, as far as these systems use them; those in a tree
"""
