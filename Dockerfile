# Debian 13 has the glibc that the prebuilt sqlite3 binary wants; the build stage can also compile it where none fits.
FROM node:24.21.0-trixie AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY scripts scripts
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src src
RUN npm run build && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24.21.0-trixie-slim
WORKDIR /app
# Two heaps of the allocator are enough; more only keep what large requests have freed. Without the thresholds they would
# also keep the gaps that pieces of up to 32 MiB leave.
ENV NODE_ENV=production DATABASE_URL=sqlite:/data/governance.db MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=524288 MALLOC_TRIM_THRESHOLD_=8388608
# A process cannot end while it asks a name server that does not answer, by default for 10 s and longer.
ENV RES_OPTIONS="timeout:2 attempts:2"
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY verifier verifier
# With PostgreSQL, the last checkpoint is kept in `data` of the working folder, which the user cannot write to.
RUN mkdir -m 700 /data && chown node:node /data && ln -s /data data
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/api/v1/health`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=16", "--max-old-space-size=384", "dist/main.js", "start"]
