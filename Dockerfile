# The operator in one file, made by `npm run build`.
FROM node:24-slim
COPY dist/operator.mjs /operator.mjs
USER 65532:65532
ENV NODE_ENV=production
ENTRYPOINT ["node", "/operator.mjs"]
