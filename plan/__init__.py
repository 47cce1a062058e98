"""What starts on which nodes: the fewest groups of services that the scheduler starts, and the most. Pure.

`amounts`   resources as whole numbers          `demand`    what a pod template asks of a node
`supply`    what a node has, and admits         `workload`  services, their roles and groups
`room`      how many pods have room, at least and at most
`progress`  how many groups have started on nodes that are added
`forecast`  the whole plan, with what is missing
`show`      a plan as text, JSON and HTML
"""
