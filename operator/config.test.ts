import { hostname } from 'node:os'
import { variableProblems } from '@open-terrain/constructs/infra'
import { describe, expect, it } from 'vitest'
import { readConfig } from './config.ts'

const ALL = {
  KUBECONFIG: '/k',
  OPERATOR_NAMESPACE: 'ns',
  CDI_NAMESPACE: 'openshift-cnv',
  KUBEVIRT_NAMESPACE: 'openshift-cnv',
  POD_NAME: 'pod',
  METRICS_ADDRESS: ':8080',
  HEALTH_ADDRESS: '127.0.0.1:8081',
  SERVE_CACHES: 'true',
  LEASE_DURATION: '1s',
  LEASE_RENEW_DEADLINE: '700ms',
  LEASE_RETRY_PERIOD: '0.2',
  API_REQUESTS_PER_SECOND: '50',
  API_REQUEST_BURST: '60',
  LAB_CLASS_LABEL: 'example.com/course',
  LOG_LEVEL: 'debug',
}

describe('the environment', () => {
  it('may be empty', () => {
    expect(readConfig({})).toEqual({
      kubeconfig: undefined,
      namespace: 'sync-operator',
      cdiNamespace: 'cdi',
      kubevirtNamespace: 'kubevirt',
      labClassLabel: undefined,
      podName: hostname(),
      metricsAddress: undefined,
      healthAddress: undefined,
      servesCaches: false,
      lease: { durationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 },
      requestsPerSecond: 1_000,
      requestBurst: 2_000,
      logLevel: 'info',
    })
  })

  it('decides', () => {
    const config = readConfig(ALL)
    expect(config).toEqual({
      kubeconfig: '/k',
      namespace: 'ns',
      labClassLabel: 'example.com/course',
      podName: 'pod',
      cdiNamespace: 'openshift-cnv',
      kubevirtNamespace: 'openshift-cnv',
      metricsAddress: ':8080',
      healthAddress: '127.0.0.1:8081',
      servesCaches: true,
      lease: { durationMs: 1_000, renewDeadlineMs: 700, retryPeriodMs: 200 },
      requestsPerSecond: 50,
      requestBurst: 60,
      logLevel: 'debug',
    })
  })

  it.each(Object.keys(ALL))('may have a blank %s, as charts write it', (name) => {
    expect(readConfig({ [name]: '' })).toEqual(readConfig({}))
  })

  it.each([
    [{ SERVE_CACHES: 'yes' }, 'SERVE_CACHES'],
    [{ LEASE_DURATION: 'soon' }, 'LEASE_DURATION'],
    [{ LEASE_DURATION: '0s' }, 'LEASE_DURATION'],
    [{ LEASE_RENEW_DEADLINE: '-1' }, 'LEASE_RENEW_DEADLINE'],
    [{ API_REQUESTS_PER_SECOND: '0' }, 'API_REQUESTS_PER_SECOND'],
    [{ API_REQUEST_BURST: 'many' }, 'API_REQUEST_BURST'],
    [{ LAB_CLASS_LABEL: 'a course' }, 'LAB_CLASS_LABEL'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL'],
    [{ LEASE_DURATION: '5s' }, 'LEASE_RENEW_DEADLINE'],
    [{ LEASE_RETRY_PERIOD: '10s' }, 'LEASE_RETRY_PERIOD'],
  ])('that makes no sense is refused by name: %j', (env, name) => {
    expect(() => readConfig(env)).toThrow(name)
  })

  it('that has two mistakes names both', () => {
    expect(() => readConfig({ LOG_LEVEL: 'x', LEASE_DURATION: 'y' })).toThrow(/LEASE_DURATION.*\nLOG_LEVEL/)
  })
})

describe('the variables that people add to the pods', () => {
  const VALUES = [
    '',
    '0',
    '-1',
    '5',
    '9s',
    '20s',
    '500ms',
    'soon',
    'debug',
    'verbose',
    'true',
    'no',
    '1e3',
    'Infinity',
    'a/b/c',
  ]
  const NAMES = ['LEASE_DURATION', 'LEASE_RENEW_DEADLINE', 'LEASE_RETRY_PERIOD', 'API_REQUESTS_PER_SECOND']
  const starts = (env: Record<string, string>) => {
    try {
      return readConfig(env) !== undefined
    } catch {
      return false
    }
  }

  it.each([...NAMES, 'API_REQUEST_BURST', 'LOG_LEVEL', 'SERVE_CACHES', 'LAB_CLASS_LABEL', 'OTHER'])(
    'are refused by the constructs exactly where the operator would not start: %s',
    (name) => {
      const judged = VALUES.map((value) => [value, variableProblems({ [name]: value }).length === 0])
      expect(judged).toEqual(VALUES.map((value) => [value, starts({ [name]: value })]))
    },
  )
})
