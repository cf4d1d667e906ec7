import { NOTHING_SEEN, type Observation } from '../../../operator/cluster/import-facts.ts'
import type { ImporterView } from '../../../operator/cluster/importer-container.ts'
import type { DataVolumeView } from '../../../operator/cluster/views.ts'
import { type JudgeContext, judgeDataVolume } from '../../../operator/controllers/vm-disk-image/decide/judge.ts'
import type { ConditionView } from '../../../operator/runtime/interned.ts'
import { HOUR, MINUTE } from '../runtime/times.ts'
import { aDataVolume, aPod } from './image-objects.ts'

export const conditionWith = (status: string, reason = '', message = ''): ConditionView => ({ status, reason, message })

export const judge = (
  dataVolume: Partial<DataVolumeView>,
  observation: Partial<Observation> = {},
  context: Partial<JudgeContext> = {},
) =>
  judgeDataVolume(aDataVolume(dataVolume), {
    observation: { ...NOTHING_SEEN, ...observation },
    ageMs: 0,
    stallTimeoutMs: 15 * MINUTE,
    attemptTimeoutMs: 6 * HOUR,
    isCdiAway: false,
    sourceType: 'http',
    errorBefore: undefined,
    ...context,
  })

export const podThat = (importer: Partial<ImporterView>, phase = 'Running') =>
  aPod('first', { phase, importer: { starts: 1, isRunning: false, ended: undefined, ...importer } })

export const leaving = (importer: Partial<ImporterView>) => {
  const pod = podThat(importer, 'Failed')
  return { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
}

export const endOf = (exitCode: number, reason: string, message = '') => ({ exitCode, reason, message })
