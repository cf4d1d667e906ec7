import { describe, expect, it } from 'vitest'
import { viewImporter } from './importer-container.ts'

const startedAt = '2026-01-01T00:00:00Z'
const container = (state: object, more: object = {}) => ({
  containerStatuses: [{ name: 'importer', restartCount: 0, state, ...more }],
})
/** The message is from the kubelet, not from the importer. */
const LOST = {
  exitCode: 137,
  reason: 'ContainerStatusUnknown',
  message: 'The container could not be located when the pod was terminated',
}
const terminated = (more: object = {}) => ({ terminated: { exitCode: 1, reason: 'Error', startedAt, ...more } })

describe('viewImporter', () => {
  it.each<[string, unknown, object]>([
    ['without a status', undefined, { starts: 0, isRunning: false, ended: undefined }],
    ['that no node has', { phase: 'Pending' }, { starts: 0, isRunning: false }],
    ['that waits', container({ waiting: { reason: 'ImagePullBackOff' } }), { starts: 0, isRunning: false }],
    ['that runs', container({ running: { startedAt } }), { starts: 1, isRunning: true, ended: undefined }],
    [
      'that has just failed',
      container(terminated({ message: 'unexpected EOF' })),
      { starts: 1, isRunning: false, ended: { exitCode: 1, reason: 'Error', message: 'unexpected EOF' } },
    ],
    [
      'that backs off',
      container({ waiting: { reason: 'CrashLoopBackOff' } }, { restartCount: 2, lastState: terminated() }),
      { starts: 3, ended: { exitCode: 1 } },
    ],
    [
      'that runs again',
      container({ running: { startedAt } }, { restartCount: 1, lastState: terminated({ message: 'no' }) }),
      { starts: 2, isRunning: true, ended: { message: 'no' } },
    ],
    [
      'that was deleted before it ran',
      container(terminated({ ...LOST, startedAt: null })),
      { starts: 0, ended: { exitCode: 137, message: '' } },
    ],
    [
      'that could not be started',
      container(terminated({ exitCode: 128, reason: 'StartError', startedAt: '1970-01-01T00:00:00Z' })),
      { starts: 0 },
    ],
    [
      'beside another container',
      {
        containerStatuses: [
          { name: 'proxy', state: { running: {} } },
          { name: 'importer', state: { waiting: {} } },
        ],
      },
      { starts: 0 },
    ],
  ])('tells of a pod %s', (_name, status, expected) => {
    expect(viewImporter(status)).toMatchObject(expected)
  })

  it('cuts what a kubelet lets through', () => {
    expect(viewImporter(container(terminated({ message: 'x'.repeat(9_000) }))).ended?.message).toHaveLength(2_000)
  })
})
