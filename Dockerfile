# Keyway as a container: `docker build -t keyway .` or `podman build --format docker -t keyway .` (the other format of podman
# has no HEALTHCHECK); how to run it stands in docs/deploy.md.

FROM node:24.11.1-bookworm-slim AS dependencies
WORKDIR /keyway
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24.11.1-bookworm-slim AS build
WORKDIR /keyway
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
# The image holds what the package holds: its list of files is in package.json alone.
RUN npm run build \
  && npm pack --ignore-scripts --pack-destination /tmp \
  && mkdir /package \
  && tar -xzf /tmp/keyway-*.tgz -C /package --strip-components=1

FROM node:24.11.1-bookworm-slim
COPY --from=build /package /keyway
COPY --from=dependencies /keyway/node_modules /keyway/node_modules
# The folder of the configuration file is mounted at /config, not the file alone, which could not be replaced. A new named volume has
# the owner that the folder has here.
RUN ln -s /keyway/dist/src/cli.js /usr/local/bin/keyway \
  && install -d -o node -g node /config
ENV NODE_ENV=production \
  KEYWAY_CONFIG=/config/server.jsonc \
  KEYWAY_BIND=0.0.0.0:9090 \
  KEYWAY_OPS_BIND=127.0.0.1:9092
WORKDIR /config
EXPOSE 9090
USER node
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s \
  CMD ["node", "-e", "fetch(`http://${process.env.KEYWAY_OPS_BIND}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["keyway"]
CMD ["serve"]
