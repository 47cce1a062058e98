"""What starts on which nodes: the groups of services that the scheduler would place, by simulation. Pure.

`amounts`   resources as whole numbers          `devices` those that a pod claims (DRA)
`demand`    what a pod template asks of a node      `supply`  what a node has
`placing`   selectors, affinity, taints             `scoring` which node the scheduler prefers
`pool`      nodes of equal state, counted together  `workload` services, their roles and groups
`progress`  how far a service is                `ungrouped` pods of no gang, one by one
`cycle`     one cycle of the scheduler over all services
`simulation` nodes and services while nodes are added
`missing`   what keeps groups from starting, what more nodes would start, what is idle
`forecast`  nodes added step by step: the whole plan
`words`     statuses in the words of the core design; `rows`, `sentences`  tables and lists of a plan
`data`, `text`, `page`  the same as JSON, for a terminal, and as one HTML page
"""
