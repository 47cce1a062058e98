# syntax=docker/dockerfile:1
# To build the same image twice, give the base by digest: --build-arg PYTHON=python:3.13-slim-bookworm@sha256:...
ARG PYTHON=python:3.13-slim-bookworm

# What it needs, each file by its hash, and no source is built.
FROM ${PYTHON} AS dependencies
COPY requirements.lock /
RUN python -m pip install --no-cache-dir --no-compile --only-binary=:all: --require-hashes --prefix=/dependencies --requirement /requirements.lock

FROM ${PYTHON}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="fusioninfer" \
      org.opencontainers.image.description="Turns an annotated LeaderWorkerSet into a gang-scheduled, multi-node LLM service" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=dependencies /dependencies /usr/local
COPY LICENSE sbom.cdx.json /usr/share/doc/fusioninfer/
COPY fusioninfer /app/fusioninfer
COPY server /app/server
COPY intent /app/intent
COPY webhook /app/webhook
COPY sync /app/sync
COPY certs /app/certs
COPY plan /app/plan
COPY importer /app/importer
COPY kube /app/kube
COPY catalog /app/catalog
# The file system is read-only: what it runs is compiled here.
RUN python -m compileall -q /app /usr/local/lib
# The user has no entry in /etc/passwd, and the Kubernetes client asks for a home as it is imported: not every
# runtime makes one up.
ENV HOME=/ \
    PYTHONPATH=/app \
    PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
EXPOSE 10250 8080
ENTRYPOINT ["python", "-m", "fusioninfer"]
