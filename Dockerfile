# The operator as one file on Node, and nothing else: `docker build --build-arg REVISION="$(git rev-parse HEAD)" -t <registry>/<repository>:<version> .`
# For bytes that never change, name the base by digest too: `--build-arg NODE_IMAGE=node:24.21.0-slim@sha256:<digest>`.
ARG NODE_IMAGE=node:24.21.0-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY LICENSE package.json package-lock.json ./
COPY cli/package.json cli/
COPY constructs/package.json constructs/
COPY crds-gen/package.json crds-gen/
COPY infra/package.json infra/
COPY operator/package.json operator/
COPY sandbox/package.json sandbox/
# Nothing that the bundle needs has to be built first: no script of a dependency runs.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY constructs constructs
COPY operator operator
COPY tooling/bundle.ts tooling/licenses.ts tooling/sbom.ts tooling/
RUN node tooling/sbom.ts

FROM ${NODE_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="open-terrain-operator" \
      org.opencontainers.image.description="Keeps VM disk images synced without saturating the network" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# Owned by root and readable by all: the operator writes no file.
COPY --from=build --chmod=0444 /src/dist/operator.mjs /src/dist/operator.mjs.LEGAL.txt /src/dist/operator.licenses.txt /src/dist/operator.sbom.json /src/LICENSE /
ENV NODE_ENV=production
# Less garbage and less freed memory that stays: docs/adr/0004-heap-flags.md
ENV MALLOC_ARENA_MAX=1
ENV MALLOC_MMAP_THRESHOLD_=32768
ENV MALLOC_TRIM_THRESHOLD_=131072
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["node", "--max-semi-space-size=2", "--heap-growing-percent=40", "--liftoff-only", "--no-concurrent-recompilation", "--no-turbofan", "--expose-gc", "/operator.mjs"]
