import { randomUUID } from 'node:crypto'
import { forgetOrigins, POLICY_SCHEMA, RESOURCES } from '@open-terrain/constructs/operator'
import { pino } from 'pino'
import { systemClock } from './base/clock.ts'
import { messageOf } from './base/messages.ts'
import { type OperatorConfig, readConfig } from './config.ts'
import { Connection } from './kube/connection.ts'
import { HttpKubeClient } from './kube/http-client.ts'
import type { RequestReport } from './kube/kube-client.ts'
import { RequestBudget } from './kube/request-budget.ts'
import { ServerClock } from './kube/server-clock.ts'
import { hasHeapFlags } from './node-flags.ts'
import { OperatorReplica } from './operator.ts'
import about from './package.json' with { type: 'json' }
import { largePartsMax } from './runtime/cache-budget.ts'
import { type Endpoint, serveEndpoints } from './runtime/http-endpoints.ts'
import { warnedOnce } from './runtime/log.ts'
import { RuntimeMetrics } from './runtime/metrics.ts'
import { tidyHeap } from './tidy-heap.ts'

const CONNECTIONS = 24
const USER_AGENT = 'open-terrain-operator'
const OK = { ok: true, contentType: 'text/plain', body: 'ok\n' }
const NOT_READY = { ok: false, contentType: 'text/plain', body: 'the caches are not complete yet\n' }

async function main(): Promise<void> {
  const config = readConfig(process.env)
  const log = createLog(config)
  const stopping = new AbortController()
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (stopping.signal.aborted) process.exit(1)
      log.info({ signal: name }, 'stopping')
      stopping.abort()
    })
  }

  if (process.env['NODE_ENV'] === 'production' && !hasHeapFlags(process))
    log.warn({}, "started without the flags of the image's entry point: it may take twice the memory")

  forgetOrigins(RESOURCES, POLICY_SCHEMA)
  const metrics = new RuntimeMetrics()
  metrics.observeProcess()
  const connection = Connection.fromEnvironment(CONNECTIONS, config.kubeconfig)
  const watchConnection = Connection.fromEnvironment(null, config.kubeconfig)
  const leaseConnection = Connection.fromEnvironment(2, config.kubeconfig)
  const onWarning = warnedOnce(log)
  const onRequest = (report: RequestReport) => {
    metrics.requested(report)
    onWarning(report)
    log.debug(report, 'request')
  }
  const budget = new RequestBudget(systemClock, config.requestsPerSecond, config.requestBurst)
  const { now: serverNow, note: onDate } = new ServerClock(systemClock)
  const operator = new OperatorReplica({
    client: new HttpKubeClient({ connection, watchConnection, userAgent: USER_AGENT, budget, onRequest, onDate }),
    leaseClient: new HttpKubeClient({
      connection: leaseConnection,
      userAgent: `${USER_AGENT}/lease`,
      onRequest,
      onDate,
    }),
    serverNow,
    clock: systemClock,
    random: Math.random,
    log,
    namespace: config.namespace,
    cdiNamespace: config.cdiNamespace,
    kubevirtNamespace: config.kubevirtNamespace,
    classLabel: config.labClassLabel,
    identity: `${config.podName}_${randomUUID().slice(0, 8)}`,
    lease: config.lease,
    metrics,
    largePartsMax: largePartsMax(),
    onSynced: tidyHeap,
  })
  const caches = endpoint('/caches', 'application/json', () => JSON.stringify(operator.cached()))
  const servers = await Promise.all([
    ...listen(config.metricsAddress, [
      endpoint('/metrics', metrics.registry.contentType, () => metrics.render()),
      ...(config.servesCaches ? [caches] : []),
    ]),
    ...listen(config.healthAddress, [
      { path: '/healthz', answer: async () => OK },
      { path: '/readyz', answer: async () => (operator.isReady ? OK : NOT_READY) },
    ]),
  ])
  log.info({ version: about.version, server: connection.server.href, namespace: config.namespace }, 'starting')
  await operator.run(stopping.signal)
  for (const server of servers) server.close()
  await Promise.all([connection, watchConnection, leaseConnection].map((one) => one.close()))
  log.info({}, 'stopped')
}

function createLog({ logLevel }: OperatorConfig) {
  const isForPeople = process.stdout.isTTY && process.env['NODE_ENV'] !== 'production'
  return pino({
    level: logLevel,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    ...(isForPeople && {
      transport: { target: 'pino-pretty', options: { colorize: true, translateTime: 'HH:MM:ss.l' } },
    }),
  })
}

function listen(address: string | undefined, endpoints: readonly Endpoint[]) {
  return address === undefined ? [] : [serveEndpoints(address, endpoints)]
}

function endpoint(path: string, contentType: string, read: () => string | Promise<string>): Endpoint {
  return { path, answer: async () => ({ ok: true, contentType, body: await read() }) }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${messageOf(error)}\n`)
    process.exit(1)
  },
)
