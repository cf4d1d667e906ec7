import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { apiError } from '../test/prepared/kube/api-error.ts'
import { type FakeClock, settled } from '../test/prepared/kube/fake-clock.ts'
import { type ScriptedCall, ScriptedClient } from '../test/prepared/kube/scripted-client.ts'
import { scriptedOperator } from '../test/prepared/operator/scripted-operator.ts'
import { SECOND } from '../test/prepared/runtime/times.ts'
import { anImage } from '../test/prepared/vm-disk-image/image-objects.ts'
import { LEDGER_NAME } from './controllers/vm-disk-image/admission/slot-ledger.ts'
import type { RequestOptions } from './kube/kube-client.ts'
import type { KubeObject } from './kube/kube-object.ts'

/** It is read only where the caches have it. */
const A_LEDGER = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: LEDGER_NAME, namespace: 'sync-operator' },
} as KubeObject

/** The process has 3 s from SIGTERM to its end. */
const STOPPED_WITHIN_MS = 2_500

let client: ScriptedClient
let clock: FakeClock
let stop: AbortController
let isStopped: boolean
beforeEach(() => {
  client = new ScriptedClient('sync-operator', 'team')
  clock = client.clock
  stop = new AbortController()
  isStopped = false
})
afterEach(async () => {
  stop.abort()
  await clock.advance(60 * SECOND)
})

async function start(): Promise<void> {
  const { status: _none, ...image } = anImage()
  client.put(image as KubeObject)
  // Waits for a Secret, which an Event reports.
  const metadata = { ...image.metadata, name: 'waiting', uid: 'uid-waiting' }
  client.put({ ...image, metadata, spec: { ...(image.spec as object), secretRef: 'missing' } } as KubeObject)
  const [creds, data] = [
    { name: 'creds', namespace: 'team' },
    { accessKeyId: 'aWQ=', secretKey: 'a2V5' },
  ]
  client.put({ apiVersion: 'v1', kind: 'Secret', metadata: creds, data } as KubeObject)
  for (const [apiVersion, kind, name] of [
    ['storage.k8s.io/v1', 'StorageClass', 'fast'],
    ['snapshot.storage.k8s.io/v1', 'VolumeSnapshotClass', 'snap'],
  ] as const)
    client.put({ apiVersion, kind, metadata: { name } })
  const operator = scriptedOperator(client)
  void operator.run(stop.signal).then(() => {
    isStopped = true
  })
  await clock.advance(SECOND)
}

/** The API server does not answer: a request ends when its signal aborts or when it times out. */
function hang({ options }: ScriptedCall): Promise<never> {
  const { signal, timeoutMs = 30 * SECOND } = (options ?? {}) as RequestOptions
  const given = Promise.withResolvers<never>()
  const giveUp = () => given.reject(apiError('NoAnswer'))
  clock.setTimer(giveUp, timeoutMs)
  signal?.addEventListener('abort', giveUp, { once: true })
  if (signal?.aborted) giveUp()
  return given.promise
}

/** Hangs every request from the first one that matches. */
function hangFrom(isFirst: (call: ScriptedCall) => boolean): { readonly isHanging: () => boolean } {
  let isHanging = false
  client.before = (call) => {
    isHanging ||= isFirst(call)
    return isHanging ? hang(call) : undefined
  }
  return { isHanging: () => isHanging }
}

const isOf = (verb: string, kind: string) => (call: ScriptedCall) => call.verb === verb && call.kind === kind
const ledger = (verb: string) => (call: ScriptedCall) => isOf(verb, 'ConfigMap')(call) && call.key.endsWith('-slots')

describe('an operator that is told to stop', () => {
  it.each<[string, (call: ScriptedCall) => boolean]>([
    ['lists', isOf('stream', 'VMDiskImage')],
    ['gets the Lease', isOf('create', 'Lease')],
    ['reads the ledger', ledger('get')],
    ['looks for downloads before it makes a ledger', isOf('list', 'DataVolume')],
    ['makes the ledger', ledger('create')],
    ['writes the ledger', ledger('replace')],
    ['writes a status', isOf('status', 'VMDiskImage')],
    ['creates a DataVolume', isOf('create', 'DataVolume')],
    ['writes an Event', isOf('create', 'Event')],
  ])('is gone in time, though the API server hangs since it %s', async (name, isFirst) => {
    if (name === 'reads the ledger') client.put(A_LEDGER)
    const { isHanging } = hangFrom(isFirst)
    await start()
    expect(isHanging()).toBe(true)
    stop.abort()
    await clock.advance(STOPPED_WITHIN_MS)
    expect(isStopped).toBe(true)
  })

  it.each<[string, (call: ScriptedCall) => boolean]>([
    ['for the DataVolume', isOf('get', 'DataVolume')],
    ['for its importer', isOf('list', 'Pod')],
  ])('is gone in time, though the API server hangs since a slot was looked at: %s', async (_name, isFirst) => {
    await start()
    // By then the status identifies the DataVolume.
    await clock.advance(3 * SECOND)
    const { isHanging } = hangFrom(isFirst)
    const [dataVolume] = client.all('DataVolume')
    if (dataVolume === undefined) throw new Error('nothing downloads')
    client.drop('DataVolume', `team/${dataVolume.metadata.name}`)
    await settled()
    expect(isHanging()).toBe(true)
    stop.abort()
    await clock.advance(STOPPED_WITHIN_MS)
    expect(isStopped).toBe(true)
  })
})
