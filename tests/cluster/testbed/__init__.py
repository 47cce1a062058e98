"""A real control plane of plain processes on loopback: build, start, use, stop.

    with running(build(sys.stderr)) as cluster:
        install_manifests(cluster)
        start_webhook(cluster)
        start_sync(cluster)

Start it from the main thread: where the kernel can, a component dies with the thread that started it,
so nothing is left behind by a killed test run.
"""
